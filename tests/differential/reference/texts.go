package main

import (
	"math"
	"math/big"
	"math/rand"
	"sort"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/labels"
)

func sortStrings(s []string) { sort.Strings(s) }

// lookup follows a JSON pointer; nil when it leads nowhere.
func lookup(v interface{}, pointer string) interface{} {
	for _, step := range strings.Split(pointer, "/")[1:] {
		switch c := v.(type) {
		case object:
			v = c[step]
		case []interface{}:
			i, err := strconv.Atoi(step)
			if err != nil || i >= len(c) {
				return nil
			}
			v = c[i]
		default:
			return nil
		}
	}
	return v
}

func within(path, from string) bool {
	return path == from || strings.HasPrefix(path, from+"/")
}

// ---- selectors ----

func (g gen) requirement() string {
	key := g.word()
	values := []string{}
	for _, i := range g.Perm(4)[:1+g.Intn(3)] {
		values = append(values, string(rune('a'+i)))
	}
	list := "(" + strings.Join(values, ",") + ")"
	space := strings.Repeat(" ", g.Intn(2))
	switch g.Intn(11) {
	case 0:
		return key + space + "=" + space + values[0]
	case 1:
		return key + "==" + space + values[0]
	case 2:
		return key + space + "!=" + values[0]
	case 3:
		return key + " in " + list
	case 4:
		return key + " notin" + space + list
	case 5:
		return key
	case 6:
		return space + "!" + key
	case 7:
		return key + ">" + strconv.Itoa(g.Intn(5))
	case 8:
		return key + " < " + strconv.Itoa(g.Intn(5))
	case 9:
		return key + "="
	default:
		// What nobody should accept, or only just.
		odd := []string{"", key + "=a b", "=a", key + " in", key + " in ()", key + " in (,a)",
			"!" + key + "=a", key + ">x", key + ",", "(a)", key + "===a", "in=a", key + "=-", key + " in (a",
			"x/y/z", "a.b/c=d", "notin", key + "!a"}
		return odd[g.Intn(len(odd))]
	}
}

func selectors(h *hub, r *rand.Rand, n int) int {
	g, refused := gen{r}, 0
	for i := 0; i < n; i++ {
		parts := []string{}
		for k := 1 + g.Intn(3); k > 0; k-- {
			parts = append(parts, g.requirement())
		}
		set := labels.Set{}
		for k := g.Intn(4); k > 0; k-- {
			set[g.word()] = g.word()
			if g.Intn(3) == 0 {
				set[g.word()] = strconv.Itoa(g.Intn(5))
			}
		}
		question := object{"op": "selector", "selector": strings.Join(parts, ","), "labels": set}
		got := h.ask(question)
		s, err := labels.Parse(question["selector"].(string))
		if err != nil {
			refused++
			if got["error"] == nil {
				disagree("a selector", question, got, err.Error())
			}
			continue
		}
		if got["match"] != s.Matches(set) {
			disagree("a selector", question, got, s.Matches(set))
		}
	}
	return refused
}

// ---- quantities ----

func (g gen) quantity() string {
	suffixes := []string{"", "", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi",
		"Ei", "e3", "E2", "e-3", "e0", "K", "ki", "mi", "e", "E+2"}
	digits := ""
	for i := 1 + g.Intn(12); i > 0; i-- {
		digits += strconv.Itoa(g.Intn(10))
	}
	if g.Intn(3) == 0 {
		digits += "."
		for i := g.Intn(8); i > 0; i-- {
			digits += strconv.Itoa(g.Intn(10))
		}
	}
	return []string{"", "", "", "+", "-"}[g.Intn(5)] + digits + suffixes[g.Intn(len(suffixes))]
}

// scaled is the value in units of 10^-exponent, rounded away from zero.
func scaled(q resource.Quantity, exponent int64) *big.Int {
	d := q.AsDec()
	v := new(big.Int).Set(d.UnscaledBig())
	shift := exponent - int64(d.Scale())
	ten := big.NewInt(10)
	if shift >= 0 {
		return v.Mul(v, new(big.Int).Exp(ten, big.NewInt(shift), nil))
	}
	divisor := new(big.Int).Exp(ten, big.NewInt(-shift), nil)
	quotient, rest := new(big.Int).QuoRem(v, divisor, new(big.Int))
	if rest.Sign() != 0 {
		quotient.Add(quotient, big.NewInt(int64(v.Sign())))
	}
	return quotient
}

func quantities(h *hub, r *rand.Rand, n int) int {
	g, refused := gen{r}, 0
	for i := 0; i < n; i++ {
		question := object{"op": "quantity", "text": g.quantity()}
		got := h.ask(question)
		for unit, exponent := range map[string]int64{"whole": 0, "milli": 3} {
			q, err := resource.ParseQuantity(question["text"].(string))
			if err != nil {
				if got[unit] != "invalid" {
					disagree("a quantity", question, got, err.Error())
				}
				continue
			}
			v := scaled(q, exponent)
			want := "range"
			if v.IsInt64() {
				scale := resource.Scale(-exponent)
				want = resource.NewScaledQuantity(v.Int64(), scale).String()
			}
			// The library caps what it reads; the hub says that it does not fit.
			capped := v.CmpAbs(big.NewInt(math.MaxInt64)) == 0 && got[unit] == "range"
			if got[unit] != want && !capped {
				disagree("a quantity in "+unit, question, got, want)
			}
		}
		if got["whole"] == "invalid" {
			refused++
		}
	}
	return refused
}
