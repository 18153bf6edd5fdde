package main

type pair struct {
	Self interface{} `json:"self"`
	Old  interface{} `json:"old"`
}

func text(more ...interface{}) object {
	o := object{"type": "string"}
	for i := 0; i < len(more); i += 2 {
		o[more[i].(string)] = more[i+1]
	}
	return o
}

var integer = object{"type": "integer"}

// What rules see: every kind of value that a schema can speak of.
var schema = object{
	"type": "object",
	"properties": object{
		"s": text(), "t": text(), "when": text("format", "date-time"), "day": text("format", "date"),
		"long": text("format", "duration"), "raw": text("format", "byte"), "q": text(),
		"i": integer, "j": integer, "d": object{"type": "number"}, "e": object{"type": "number"},
		"b": object{"type": "boolean"}, "c": object{"type": "boolean"},
		"port":  object{"x-kubernetes-int-or-string": true},
		"free":  object{"x-kubernetes-preserve-unknown-fields": true},
		"maybe": object{"type": "string", "nullable": true},
		"li":    object{"type": "array", "items": integer},
		"ls":    object{"type": "array", "items": text()},
		"set":   object{"type": "array", "items": text(), "x-kubernetes-list-type": "set"},
		"m":     object{"type": "object", "additionalProperties": text()},
		"mi":    object{"type": "object", "additionalProperties": integer},
		"o": object{"type": "object", "properties": object{
			"name": text(), "namespace": text(), "a-b": integer, "x.y": integer, "in": integer, "deep": object{"type": "object", "properties": object{"v": integer}}}},
		"list": object{"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": []string{"k"},
			"items": object{"type": "object", "required": []string{"k"}, "properties": object{"k": text(), "v": integer, "tags": object{"type": "array", "items": text()}}}},
	},
}

func item(k string, v int64, tags ...interface{}) object {
	o := object{"k": k, "v": v}
	if tags != nil {
		o["tags"] = tags
	}
	return o
}

var full = object{
	"s": "hello", "t": "héllo wörld", "when": "2026-11-21T10:20:30.5Z", "day": "2026-11-21", "long": "1h30m0.5s", "raw": "aGk=", "q": "1500m",
	"i": int64(3), "j": int64(-7), "d": 1.5, "e": 2.0, "b": true, "c": false, "port": int64(80), "maybe": "x",
	"li": []interface{}{int64(1), int64(2), int64(3)}, "ls": []interface{}{"a", "b", "a"}, "set": []interface{}{"x", "y"},
	"m": object{"k": "v", "app": "web"}, "mi": object{"one": int64(1), "two": int64(2)},
	"o":    object{"name": "n", "namespace": "ns", "a-b": int64(5), "x.y": int64(6), "in": int64(7), "deep": object{"v": int64(9)}},
	"list": []interface{}{item("p", 1, "t1", "t2"), item("q", 2)},
}

var other = object{
	"s": "", "t": "x", "when": "2020-02-29T23:59:59+01:00", "day": "1999-12-31", "long": "-2s", "raw": "", "q": "2Gi",
	"i": int64(9223372036854775807), "j": int64(0), "d": -0.25, "e": 1e21, "b": false, "c": true, "port": "http", "maybe": nil,
	"li": []interface{}{}, "ls": []interface{}{"z"}, "set": []interface{}{"y", "x"},
	"m": object{}, "mi": object{"one": int64(10)},
	"o":    object{"name": "", "deep": object{}},
	"list": []interface{}{item("q", 3), item("r", 4, "t1")},
}

var pairs = []pair{{full, other}, {other, full}, {object{}, full}, {full, object{}}, {full, nil}}

// Each way of saying something once; what the two sides must agree on.
var rules = []string{
	// fields and presence
	"self.i > 2", "has(self.s)", "!has(self.s)", "has(self.o) && has(self.o.deep) && has(self.o.deep.v)", "self.o.deep.v == 9",
	"has(self.o.nothing)", "self.nothing", "self.o.namespace == 'ns'", "self.o.__namespace__ == 'ns'", "self.o.a__dash__b == 5", "self.o.x__dot__y == 6",
	"self.o.__in__ == 7", "self.o.in == 7", "has(self.o.a__dash__b)", "self.free == 1", "has(self.free)", "self.maybe == null", "has(self.maybe)", "self.maybe == 'x'",
	"self.m.k == 'v'", "has(self.m.k)", "self.m['k'] == 'v'", "self.m['none'] == 'v'", "'k' in self.m", "'app' in self.m && self.m['app'].startsWith('w')", "self.m.size() <= 2",
	"self.mi.all(k, self.mi[k] > 0)", "self.mi.exists(k, k == 'two')", "self.mi.filter(k, self.mi[k] > 1) == ['two']", "self == self", "self.o == self.o", "self != oldSelf",
	"self.metadata.name == 'x'", "self.list[0].k == 'p'", "self.list[5].k == 'p'", "self.li[1] == 2", "self.li[-1] == 2", "self.li['a'] == 2", "self.s[0] == 'h'",
	// what was
	"self.i == oldSelf.i", "!has(oldSelf.s) || self.s == oldSelf.s", "self.i >= oldSelf.i || self.j < oldSelf.j", "oldSelf.m.all(k, k in self.m)", "self.set == oldSelf.set", "self.ls == oldSelf.ls", "self.list == oldSelf.list",
	// numbers
	"self.i + self.j == -4", "self.i - self.j == 10", "self.i * self.j == -21", "self.j / self.i == -2", "self.j % self.i == -1", "self.i / 0 == 1", "self.i % 0 == 1", "self.i + 1 > self.i", "-self.j == 7", "-(self.i) < 0",
	"self.d * 2.0 == 3.0", "self.d + self.e > 3.0", "self.d / 0.0 > 1.0", "self.d % 2.0 == 1.0", "self.d > 1", "self.i < 3.5", "self.i == 3.0", "self.d == 1", "self.i in [1, 2, 3]", "self.i in self.li", "self.d in [1.5]", "1u + 2u == 3u", "1u - 2u == 3u", "self.i + 1u == 4u", "uint(self.i) == 3u",
	"self.i == 0x3", "9223372036854775807 + 1 == 0", "-9223372036854775808 < 0", "9223372036854775808 > 0", "1e3 == 1000.0", ".5 == 0.5", "1. == 1.0", "0xffu == 255u", "--1 == 1", "!!true", "- 1 == -1",
	"int('42') == 42", "int('x') == 42", "int(2.9) == 2", "int(-2.9) == -2", "double('1.5') == self.d", "double(3) == 3.0", "string(3) == '3'", "string(1.5) == '1.5'", "string(1e21) == '1e+21'", "string(1000000.0) == '1e+06'", "string(123456.0) == '123456'", "string(self.e) == '2'", "string(true) == 'true'", "int(1e19) == 1", "uint(-1) == 1u", "uint('7') == 7u", "bool('true')", "bool('maybe')",
	// strings
	"self.s == 'hello'", "self.s + self.t == 'hellohéllo wörld'", "size(self.t) == 11", "self.t.size() == 11", "self.s.contains('ell')", "self.s.startsWith('he') && self.s.endsWith('lo')", "self.s.matches('^h.*o$')", "matches(self.s, 'l+')", "self.s.matches('[')", "self.s < self.t", "self.s > 'a'",
	"self.t.charAt(1) == 'é'", "self.s.charAt(9) == ''", "self.s.charAt(5) == ''", "self.t.indexOf('w') == 6", "self.t.indexOf('l', 4) == 9", "self.t.indexOf('') == 0", "self.t.lastIndexOf('l') == 9", "self.t.lastIndexOf('l', 5) == 3", "self.t.lastIndexOf('') == 11", "self.t.indexOf('zz') == -1",
	"self.s.upperAscii() == 'HELLO'", "self.t.upperAscii() == 'HéLLO WöRLD'", "'ABC'.lowerAscii() == 'abc'", "self.s.replace('l', 'L') == 'heLLo'", "self.s.replace('l', 'L', 1) == 'heLlo'", "self.s.replace('', '-') == '-h-e-l-l-o-'", "self.s.replace('x', 'y') == self.s", "self.s.replace('l', 'L', 0) == self.s",
	"self.t.split(' ') == ['héllo', 'wörld']", "self.s.split('l') == ['he', '', 'o']", "self.s.split('l', 2) == ['he', 'lo']", "self.s.split('') == ['h', 'e', 'l', 'l', 'o']", "self.s.split('l', 0) == []", "self.s.split('l', -1).size() == 3", "self.s.split('', 2) == ['h', 'ello']", "''.split('') == []", "''.split(',') == ['']",
	"self.t.substring(1) == 'éllo wörld'", "self.t.substring(1, 3) == 'él'", "self.s.substring(3, 1) == ''", "self.s.substring(9) == ''", "'  x\t'.trim() == 'x'", "' \\u00a0x'.trim() == 'x'", "self.ls.join(',') == 'a,b,a'", "self.ls.join() == 'aba'", "self.li.join(',') == '1'", "'ab'.reverse() == 'ba'",
	"'abc123def456'.find('[0-9]+') == '123'", "'abc'.find('[0-9]+') == ''", "'abc123def456'.findAll('[0-9]+') == ['123', '456']", "'abc123def456'.findAll('[0-9]+', 1) == ['123']", "'aaa'.findAll('x*').size() == 4",
	`"a\tb" == 'a\tb'`, `r'\d' == '\\d'`, `'''a'b''' == "a'b"`, `'\x41\u00e9\U0001F600' == 'Aé😀'`, `'\101' == 'A'`, `b'hi' == self.raw`, `self.raw.size() == 2`, `string(self.raw) == 'hi'`, `bytes('hi') == b'\x68\x69'`, `'\q' == ''`, "'abc", "'a' 'b'", "\"\" == ''",
	// time
	"self.when > timestamp('2026-01-01T00:00:00Z')", "self.when.getFullYear() == 2026", "self.when.getMonth() == 10", "self.when.getDayOfMonth() == 20", "self.when.getDate() == 21", "self.when.getDayOfWeek() == 6", "self.when.getDayOfYear() == 324", "self.when.getHours() == 10", "self.when.getMinutes() == 20", "self.when.getSeconds() == 30", "self.when.getMilliseconds() == 500", "self.day < self.when",
	"self.long > duration('1h')", "self.long.getHours() == 1", "self.long.getMinutes() == 90", "self.long.getSeconds() == 5400", "self.long.getMilliseconds() == 5400500", "duration('1h') + duration('30m') == duration('90m')", "self.when + duration('1h') > self.when", "self.when - self.day > duration('10h')", "self.when - duration('24h') < self.when", "string(duration('90m')) == '5400s'", "string(duration('1.5s')) == '1.5s'", "string(timestamp('2026-01-01T00:00:00Z')) == '2026-01-01T00:00:00Z'", "timestamp('x') > self.when", "duration('x') > self.long", "int(timestamp('2026-01-01T00:00:00Z')) == 1767225600", "timestamp(0) < self.when", "duration('-1.5h').getMinutes() == -90", "self.long + self.when > self.when", "self.long - self.when > self.long", "self.when == timestamp('2026-11-21T11:20:30.5+01:00')", "string(self.when) == '2026-11-21T10:20:30.5Z'",
	// logic
	"true || self.nothing", "self.b && !self.c", "self.b ? self.i > 0 : self.i < 0", "self.b ? 'a' : 1", "self.c || self.li[9] > 0", "self.li[9] > 0 || self.b", "self.li[9] > 0 && self.c", "self.li[9] > 0 && self.b", "self.i ? true : false", "true ? false : true", "self.b == true", "self.i && true", "!self.i", "has(self.x)", "has(self)", "has(self.m['k'])",
	// lists and macros
	"self.li.all(x, x > 0)", "self.li.exists(x, x == 2)", "self.li.exists_one(x, x > 2)", "self.ls.exists_one(x, x == 'a')", "self.li.map(x, x * 2) == [2, 4, 6]", "self.li.map(x, x > 1, x * 2) == [4, 6]", "self.li.filter(x, x > 1) == [2, 3]", "self.li.filter(x, x > 1).size() == 2", "self.list.all(x, has(x.tags) && x.tags.size() > 1)", "self.list.exists(x, x.k == 'q' && x.v == 2)", "self.list.map(x, x.v).sum() == 3", "self.list.all(x, self.list.exists_one(y, y.k == x.k))", "self.li.all(i, v, v > i)", "self.m.exists(k, v, k == v || v == 'web')", "self.li.existsOne(i, v, i == 1 && v == 2)", "self.li.all(i, 2, true)", "self.li.filter(i, v, true).size() == 1", "self.s.all(x, x == 'h')", "self.i.exists(x, true)", "self.li.all(1, true)", "self.li.all(x, x)", "self.ls.all(x, x.size() == 1)", "[[1], [2, 3]].all(l, l.size() > 0)", "[1, 'a'].size() == 2", "[].size() == 0", "{}.size() == 0", "{'a': 1}.a == 1", "{'a': 1, 'a': 2}.size() == 1", "{1: 'a'}[1] == 'a'", "{'a': 1} == {'a': 1}", "{'a': 1, 'b': 'x'}.size() == 2", "[1, 2] + [3] == self.li", "self.set + ['z'] == ['x', 'y', 'z']", "self.set + ['x'] == self.set", "self.list + [] == self.list", "self.set == ['y', 'x']", "self.ls == ['b', 'a', 'a']", "'a' in self.ls", "1 in self.ls", "self.li.exists(x, self.li[x] > 2)", "self.li.all(x, x / 0 > 1)", "self.li.exists(x, x == 1 || x / 0 > 1)", "self.li.all(x, x == 9 && x / 0 > 1)",
	"self.li.isSorted()", "self.ls.isSorted()", "self.li.min() == 1", "self.li.max() == 3", "self.ls.max() == 'b'", "self.li.sum() == 6", "self.li.indexOf(2) == 1", "self.ls.lastIndexOf('a') == 2", "self.ls.indexOf('q') == -1", "self.list.isSorted()", "self.ls.sum() == 1",
	"sets.contains(self.ls, ['a'])", "sets.equivalent(self.ls, ['b', 'a'])", "sets.intersects(self.ls, ['q', 'b'])", "sets.contains(self.ls, [1])", "sets.nothing(self.ls)",
	// of two kinds
	"self.port == 80", "self.port == 'http'", "type(self.port) == int", "type(self.port) == string ? self.port.size() > 2 : self.port > 10", "self.port + 1 == 81", "self.port + true == 81", "self.port % 2.0 == 1.0", "self.port - 'a' == 1", "self.port < [1]", "null < self.port", "self.port.startsWith('h')", "string(self.port) == '80'", "int(self.port) == 80", "dyn(self.i) == 'x'", "type(self.i) == int", "type(self.s) == type('')", "type(self.li) == list", "type(self.m) == map", "type(self.when) == int", "type(1.5) == double", "type(null) == null_type", "type(type(1)) == type", "type(b'') == bytes", "type(1u) == uint", "type(true) == bool",
	// optional values
	"self.?s.hasValue()", "self.?s.orValue('') == 'hello'", "self.?o.?deep.?v.orValue(0) == 9", "self.?o.deep.v.orValue(0) == 9", "self.m[?'k'].orValue('') == 'v'", "self.li[?9].hasValue()", "optional.of(1).value() == 1", "optional.none().hasValue()", "optional.none().orValue(1) == 1", "self.?s.or(optional.of('x')).value() == 'hello'", "optional.ofNonZeroValue(self.j).hasValue()", "[?self.?s, 'x'].size() == 2", "{?'a': self.?s}.size() == 1", "self.?s.value() == 'hello'", "self.?i == optional.of(3)", "has(self.?o.deep)",
	// Kubernetes'
	"quantity(self.q).isGreaterThan(quantity('1'))", "quantity(self.q).isLessThan(quantity('2'))", "quantity(self.q).compareTo(quantity('1.5')) == 0", "quantity('1Gi').asInteger() == 1073741824", "quantity(self.q).isInteger()", "quantity(self.q).asInteger() == 1", "quantity(self.q).asApproximateFloat() == 1.5", "quantity(self.q).add(quantity('500m')) == quantity('2')", "quantity(self.q).sub(1).isLessThan(quantity('1'))", "quantity(self.q).sign() == 1", "sign(quantity(self.q)) == 1", "isQuantity(self.q)", "isQuantity('x')", "quantity('x').sign() == 1", "quantity('50M') == quantity('50000k')", "quantity(self.q) == quantity('1.5')", "quantity('-1').sign() == -1",
	"isIP('10.0.0.1')", "isIP('x')", "isIP('::ffff:1.2.3.4')", "isIP('010.0.0.1')", "ip('10.0.0.1').family() == 4", "ip('::1').isLoopback()", "ip('127.0.0.2').isLoopback()", "ip('0.0.0.0').isUnspecified()", "ip('169.254.1.1').isLinkLocalUnicast()", "ip('fe80::1').isLinkLocalUnicast()", "ip('224.0.0.5').isLinkLocalMulticast()", "ip('ff02::1').isLinkLocalMulticast()", "ip('10.0.0.1').isGlobalUnicast()", "ip('255.255.255.255').isGlobalUnicast()", "ip('::1') == ip('0:0:0:0:0:0:0:1')", "ip.isCanonical('::1')", "ip.isCanonical('0:0:0:0:0:0:0:1')", "string(ip('0:0::1')) == '::1'", "ip('x').family() == 4", "isCIDR('10.0.0.0/8')", "isCIDR('10.0.0.0/33')", "isCIDR('10.0.0.0/08')", "cidr('10.0.0.0/8').containsIP('10.1.2.3')", "cidr('10.0.0.0/8').containsIP(ip('11.1.2.3'))", "cidr('10.0.0.0/8').containsCIDR('10.1.0.0/16')", "cidr('10.0.0.0/8').containsCIDR(cidr('0.0.0.0/0'))", "cidr('10.1.2.3/8').ip() == ip('10.1.2.3')", "cidr('10.1.2.3/8').masked() == cidr('10.0.0.0/8')", "cidr('10.0.0.0/8').prefixLength() == 8", "string(cidr('10.0.0.0/8')) == '10.0.0.0/8'", "cidr('10.0.0.0/8') == cidr('10.0.0.0/8')",
	// what does not compile
	"self.", "self.i >", "(self.i > 1", "self.i > 1)", "self.i + 'x' == 1", "self.s + 1 == ''", "self.i > 'x'", "self.s", "self.i", "nothing(self.s)", "self.s.nothing()", "self.li.size(1) == 1", "size(self.i) == 1", "self.i.startsWith('x')", "other == 1", "self.o.name.first == 1", "self.i == 'x'", "self.s == 3", "self.li == ['a']", "self.i in ['a']", "self.b > 1", "[1] > [0]", "self.o > self.o", "in == 1", "self.for == 1", "if == 1", "true ? 1", "1 ? true : false", "a.b.c", "self.li.map(x)", "self..i == 1", "#", "self.i === 3", "self.i = 3", "self.s ~ 'x'", "self.i & 1 == 1", "null == 1", "null == null", "self.s == null", "self.o == null", "self.li == null", "self.when == null", "size() == 1", "string(self.li) == ''", "int(self.b) == 1", "bool(1)", "Foo{a: 1}.a == 1", "// a comment\nself.i > 2", "self.i > 2 // a comment",
}
