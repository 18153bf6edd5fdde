package main

import (
	"fmt"
	"math/rand"
)

// generator puts expressions together that mostly have types; now and then it takes any.
type generator struct {
	r *rand.Rand
}

func (g generator) one(choices ...string) string {
	return choices[g.r.Intn(len(choices))]
}

func (g generator) boolean(depth int) string {
	if depth == 0 {
		return g.one("self.b", "self.c", "true", "false", "has(self.s)", "has(self.o.deep.v)", "'k' in self.m", "self.b")
	}
	d := depth - 1
	switch g.r.Intn(16) {
	case 0:
		return fmt.Sprintf("(%s && %s)", g.boolean(d), g.boolean(d))
	case 1:
		return fmt.Sprintf("(%s || %s)", g.boolean(d), g.boolean(d))
	case 2:
		return "!" + g.boolean(d)
	case 3, 4:
		return fmt.Sprintf("(%s %s %s)", g.integer(d), g.one("<", "<=", ">", ">=", "==", "!="), g.integer(d))
	case 5:
		return fmt.Sprintf("(%s %s %s)", g.text(d), g.one("<", "==", "!=", ">="), g.text(d))
	case 6:
		return fmt.Sprintf("%s.%s(%s)", g.text(d), g.one("contains", "startsWith", "endsWith"), g.text(0))
	case 7:
		return fmt.Sprintf("%s.%s(x, %s)", g.integers(d), g.one("all", "exists", "exists_one"), g.ofX(d))
	case 8:
		return fmt.Sprintf("(%s in %s)", g.integer(d), g.integers(d))
	case 9:
		return fmt.Sprintf("(%s == %s)", g.integers(d), g.integers(d))
	case 10:
		return fmt.Sprintf("(%s ? %s : %s)", g.boolean(d), g.boolean(d), g.boolean(d))
	case 11:
		return fmt.Sprintf("(%s %s %s)", g.real(d), g.one("<", ">", "==", ">="), g.real(d))
	case 12:
		return fmt.Sprintf("(%s == %s)", g.texts(d), g.texts(d))
	case 13:
		return fmt.Sprintf("(self.port == %s)", g.one(g.integer(d), g.text(d)))
	case 14: /* of any type */
		return fmt.Sprintf("(%s %s %s)", g.any(d), g.one("==", "<", "in", "!=", "+"), g.any(d))
	}
	return fmt.Sprintf("self.list.%s(l, l.k == %s || l.v %s %s)", g.one("all", "exists"), g.text(0), g.one("<", ">", "=="), g.integer(d))
}

func (g generator) any(depth int) string {
	switch g.r.Intn(7) {
	case 0:
		return g.boolean(depth)
	case 1:
		return g.integer(depth)
	case 2:
		return g.text(depth)
	case 3:
		return g.integers(depth)
	case 4:
		return g.real(depth)
	case 5:
		return g.texts(depth)
	}
	return g.one("self.m", "self.o", "self.port", "self.set", "null", "self.when", "self.long", "self.list", "self.raw", "self.maybe", "self.mi", "{'a': 1}", "1u", "type(self.i)")
}

func (g generator) ofX(depth int) string {
	return g.one(fmt.Sprintf("x > %s", g.integer(depth)), fmt.Sprintf("x == %s || %s", g.integer(depth), g.boolean(depth)), "x % 2 == 0", "10 / (x - 2) > 0", g.boolean(depth))
}

func (g generator) integer(depth int) string {
	if depth == 0 {
		return g.one("self.i", "self.j", "0", "1", "-3", "2", "9223372036854775807", "self.o.deep.v", "self.li[0]", "self.mi['one']")
	}
	d := depth - 1
	switch g.r.Intn(8) {
	case 0, 1, 2:
		return fmt.Sprintf("(%s %s %s)", g.integer(d), g.one("+", "-", "*", "/", "%"), g.integer(d))
	case 3:
		return fmt.Sprintf("size(%s)", g.one(g.text(d), g.integers(d), "self.m", g.texts(d)))
	case 4:
		return fmt.Sprintf("(%s ? %s : %s)", g.boolean(d), g.integer(d), g.integer(d))
	case 5:
		return fmt.Sprintf("%s.%s(%s)", g.text(d), g.one("indexOf", "lastIndexOf"), g.text(0))
	case 6:
		return fmt.Sprintf("int(%s)", g.one(g.real(d), g.text(d), "'12'"))
	}
	return fmt.Sprintf("%s.%s()", g.integers(d), g.one("min", "max", "sum"))
}

func (g generator) real(depth int) string {
	if depth == 0 {
		return g.one("self.d", "self.e", "0.5", "-1.25", "1e10", "2.0")
	}
	d := depth - 1
	if g.r.Intn(3) == 0 {
		return fmt.Sprintf("double(%s)", g.one(g.integer(d), g.text(0)))
	}
	return fmt.Sprintf("(%s %s %s)", g.real(d), g.one("+", "-", "*", "/"), g.real(d))
}

func (g generator) text(depth int) string {
	if depth == 0 {
		return g.one("self.s", "self.t", "''", "'l'", "'hello'", "'é'", "self.m['k']", "self.o.name", "self.ls[1]", "'a,b'")
	}
	d := depth - 1
	switch g.r.Intn(8) {
	case 0:
		return fmt.Sprintf("(%s + %s)", g.text(d), g.text(d))
	case 1:
		return fmt.Sprintf("%s.substring(%s)", g.text(d), g.one("0", "1", "2", "1, 3", g.integer(0)))
	case 2:
		return fmt.Sprintf("%s.replace(%s, %s)", g.text(d), g.text(0), g.text(0))
	case 3:
		return fmt.Sprintf("%s.%s()", g.text(d), g.one("upperAscii", "lowerAscii", "trim"))
	case 4:
		return fmt.Sprintf("string(%s)", g.one(g.integer(d), g.real(d), g.text(d)))
	case 5:
		return fmt.Sprintf("%s.join(%s)", g.texts(d), g.text(0))
	case 6:
		return fmt.Sprintf("(%s ? %s : %s)", g.boolean(d), g.text(d), g.text(d))
	}
	return fmt.Sprintf("%s.charAt(%s)", g.text(d), g.integer(0))
}

func (g generator) integers(depth int) string {
	if depth == 0 {
		return g.one("self.li", "[1, 2]", "self.li.filter(x, false)", "[3, 2, 1]")
	}
	d := depth - 1
	switch g.r.Intn(5) {
	case 0:
		return fmt.Sprintf("(%s + %s)", g.integers(d), g.integers(d))
	case 1:
		return fmt.Sprintf("%s.filter(x, %s)", g.integers(d), g.ofX(d))
	case 2:
		return fmt.Sprintf("%s.map(x, %s)", g.integers(d), g.one("x + 1", g.integer(d), "x * x"))
	case 3:
		return fmt.Sprintf("[%s, %s]", g.integer(d), g.integer(d))
	}
	return "self.list.map(l, l.v)"
}

func (g generator) texts(depth int) string {
	if depth == 0 {
		return g.one("self.ls", "['a', 'b']", "self.set", "['x']")
	}
	d := depth - 1
	switch g.r.Intn(4) {
	case 0:
		return fmt.Sprintf("%s.split(%s)", g.text(d), g.text(0))
	case 1:
		return fmt.Sprintf("(%s + %s)", g.texts(d), g.texts(d))
	case 2:
		return fmt.Sprintf("%s.findAll('[a-l]+')", g.text(d))
	}
	return "self.list.map(l, l.k)"
}
