/*
 * Any bytes as a quantity: no crash, and what is taken prints as text that means the same.
 */
#include "base/compat.h"
#include "kube/quantity.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool ok)
{
	if (!ok)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct span text = span_make((const char *)data, size);
	char out[QUANTITY_TEXT];
	int64_t whole, milli, back;

	if (quantity_parse(text, QUANTITY_NEGATIVE, &whole) == 0) {
		must(quantity_parse(span_of(quantity_format_binary(whole, out)), QUANTITY_NEGATIVE,
				    &back) == 0 &&
		     back == whole);
		must(whole < 0 || quantity_parse(text, QUANTITY_WHOLE, &back) == 0);
	}
	if (quantity_parse(text, QUANTITY_NEGATIVE | QUANTITY_MILLI, &milli) == 0) {
		unsigned both = QUANTITY_NEGATIVE | QUANTITY_MILLI;
		must(quantity_parse(span_of(quantity_format_decimal(milli, both, out)), both,
				    &back) == 0 &&
		     back == milli);
		/* What fits in thousandths fits in whole units, and rounds to them. */
		must(quantity_parse(text, QUANTITY_NEGATIVE, &whole) == 0);
		must(whole == milli / 1000 || whole == milli / 1000 + (milli < 0 ? -1 : 1));
		/* Printed anew it means the same, and stays so. */
		if (quantity_canonical(text, out)) {
			char again[QUANTITY_TEXT];
			must(quantity_parse(span_of(out), QUANTITY_NEGATIVE | QUANTITY_MILLI,
					    &back) == 0 &&
			     back == milli);
			must(!quantity_canonical(span_of(out), again));
		}
	}
	return 0;
}
