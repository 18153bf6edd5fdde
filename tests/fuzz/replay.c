/*
 * Runs every file of the folders (or the files) named on the command line through a fuzz target,
 * in byte order of their names, so that a corpus is a test under any compiler.
 *
 * Exit 1 when a folder is missing or nothing was replayed: an empty corpus must not look green.
 */
#include "base/compat.h"
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <sys/stat.h>

#define INPUT_MAX (1u << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay_file(const char *path)
{
	FILE *f = fopen(path, "rb");
	if (!f) {
		fprintf(stderr, "%s: %s\n", path, strerror(errno));
		return -1;
	}
	uint8_t *data = xcalloc(1, INPUT_MAX);
	size_t size = fread(data, 1, INPUT_MAX, f);
	fclose(f);
	/* A block of exactly the input's size, so that a sanitizer sees a read past its end. */
	uint8_t *exact = xcalloc(1, size);
	memcpy(exact, data, size);
	free(data);
	LLVMFuzzerTestOneInput(exact, size);
	free(exact);
	return 1;
}

static int replay(const char *path)
{
	struct stat st;
	if (stat(path, &st) != 0) {
		fprintf(stderr, "%s: %s\n", path, strerror(errno));
		return -1;
	}
	if (!S_ISDIR(st.st_mode))
		return replay_file(path);
	struct dirent **names = NULL;
	int n = scandir(path, &names, NULL, alphasort);
	int total = n < 0 ? -1 : 0;
	for (int i = 0; i < n; i++) {
		if (names[i]->d_name[0] != '.' && total >= 0) {
			char *file = NULL;
			if (asprintf(&file, "%s/%s", path, names[i]->d_name) < 0)
				abort();
			int r = replay(file);
			total = r < 0 ? -1 : total + r;
			free(file);
		}
		free(names[i]);
	}
	free(names);
	return total;
}

int main(int argc, char **argv)
{
	int total = 0;
	for (int i = 1; i < argc; i++) {
		int n = replay(argv[i]);
		if (n < 0)
			return 1;
		total += n;
	}
	printf("%d inputs replayed\n", total);
	return total > 0 ? 0 : 1;
}
