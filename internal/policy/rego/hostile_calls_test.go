// SPDX-License-Identifier: Apache-2.0

package rego_test

// texts are some of megabytes, of one letter mostly.
const texts = `kb := concat("", [c | some _ in numbers.range(1, 1000); c := "aaaaaaaa"])
mb := concat("", [kb | some _ in numbers.range(1, 130)])
ten := concat("", [mb | some _ in numbers.range(1, 12)])
numbers_of(n) := numbers.range(1, n)
fractions(n) := [f | some i in numbers.range(1, n); f := i / 1000000]
pairs(n) := [f | some i in numbers.range(1, n); f := [i, 0 - i]]
`

// costlyCalls are single calls whose time grows faster than what they are given.
func costlyCalls() map[string]string {
	out := map[string]string{}
	for name, ask := range map[string]string{
		"regex.match of a long text":             `regex.match("(a|b|c|aa|aaa)*(x|y){900}$", ten)`,
		"regex.match of a long pattern":          `regex.match(concat("|", [ten]), "b")`,
		"regex.match of many ways":               `regex.match("(a{0,30}){0,30}b", mb)`,
		"regex.is_valid":                         `not regex.is_valid(concat("", [ten, "("]))`,
		"regex.find_n":                           `count(regex.find_n("(a|aa|aaa)*(x|y){500}", ten, 1)) > 0`,
		"regex.find_n of all":                    `count(regex.find_n("a*b|a", concat("", array.slice([kb | some _ in numbers.range(1, 20)], 0, 20)), -1)) == 0`,
		"regex.split":                            `count(regex.split("a*b", kb)) == 0`,
		"regex.replace":                          `count(regex.replace(mb, "(a|aa)*(x|y){500}", "")) == 0`,
		"regex.template_match":                   `regex.template_match("{(a|aa|aaa)*(x|y){900}}", ten, "{", "}")`,
		"trim":                                   `count(trim(ten, concat("é", [replace(mb, "a", "b"), "a"]))) == 1`,
		"trim_left":                              `count(trim_left(ten, concat("é", [replace(mb, "a", "b"), "a"]))) == 1`,
		"trim_right":                             `count(trim_right(ten, concat("é", [replace(mb, "a", "b"), "a"]))) == 1`,
		"indexof":                                `indexof(concat("", [mb, "é"]), concat("", [array.concat([kb | some _ in numbers.range(1, 60)], ["b"])[i] | some i in numbers.range(0, 60)])) == 0`,
		"indexof_n":                              `count(indexof_n(concat("", [mb, "é"]), concat("", [concat("", [kb | some _ in numbers.range(1, 60)]), "b"]))) == 1`,
		"strings.replace_n":                      `count(strings.replace_n({concat("", [mb, "b"]): "", "b": ""}, ten)) == 0`,
		"replace":                                `count(replace(ten, concat("", [mb, "b"]), "")) == 0`,
		"contains":                               `contains(ten, concat("", [mb, "b"]))`,
		"strings.count":                          `strings.count(ten, concat("", [mb, "b"])) == 1`,
		"strings.any_prefix_match":               `strings.any_prefix_match([sprintf("%s%d", [kb, i]) | some i in numbers.range(1, 1000)], [sprintf("%s%db", [kb, i]) | some i in numbers.range(1, 1000)])`,
		"object.subset of arrays":                `object.subset(array.concat([1 | some _ in numbers.range(1, 100000)], [3]), array.concat([1 | some _ in numbers.range(1, 50000)], [2]))`,
		"yaml.unmarshal of keys":                 `count(yaml.unmarshal(concat("\n", [sprintf("%x:", [i]) | some i in numbers.range(1, 120000)]))) == 0`,
		"yaml.unmarshal of a nest":               `yaml.unmarshal(replace(mb, "a", "[")) == 0`,
		"yaml.unmarshal of lines":                `yaml.unmarshal(replace(mb, "a", "- ")) == 0`,
		"json.unmarshal of a nest":               `json.unmarshal(replace(mb, "a", "[")) == 0`,
		"json.unmarshal of a long number":        `{ n := json.unmarshal(replace(kb, "a", "1")); m := json.unmarshal(concat("", [replace(kb, "a", "1"), "2"])); count(sort([x | some _ in numbers.range(1, 50000); some x in [n, m]])) == 0 }`,
		"json.patch at the front":                `count(json.patch(numbers_of(20000), [{"op": "add", "path": "/0", "value": i} | some i in numbers.range(1, 20000)])) == 0`,
		"json.remove of many":                    `count(json.remove({"a": {sprintf("%d", [i]): i | some i in numbers.range(1, 20000)}}, [sprintf("a/%d", [i]) | some i in numbers.range(1, 20000)])) == 0`,
		"json.filter of many":                    `count(json.filter({"a": {sprintf("%d", [i]): i | some i in numbers.range(1, 20000)}}, [sprintf("a/%d", [i]) | some i in numbers.range(1, 20000)])) == 0`,
		"object.union_n of the same keys":        `count(object.union_n([{sprintf("%d", [i]): a | some i in numbers.range(1, 4000)} | some a in numbers.range(1, 40)])) == 0`,
		"object.union_n of fractions":            `count(object.union_n([{f: 1 | some f in fractions(3000)} | some _ in numbers.range(1, 40)])) == 0`,
		"object.keys":                            `count(object.keys({f: 1 | some f in fractions(3000)})) == 0`,
		"union of fractions":                     `count(union({{f | some f in fractions(4000 + i)} | some i in numbers.range(1, 30)})) == 0`,
		"union of many fractions":                `count(union({s | some f in fractions(60000); s := {f}})) == 0`,
		"union of many pairs":                    `count(union({s | some f in pairs(60000); s := {f}})) == 0`,
		"union of a chain and one behind it":     `count(union({s | some i in numbers.range(1, 60000); s := {i, 1.5}})) == 0`,
		"| of fractions":                         `count({f | some f in fractions(9000)} | {f | some f in fractions(9001)}) == 0`,
		"& of fractions":                         `count({f | some f in fractions(9000)} & {f | some f in fractions(9001)}) == 0`,
		"- of fractions":                         `count({f | some f in fractions(9000)} - {f | some f in fractions(8999)}) == 0`,
		"intersection of fractions":              `count(intersection({{f | some f in fractions(6000)}, {f | some f in fractions(6001)}, {f | some f in fractions(6002)}})) == 0`,
		"graph.reachable of fractions":           `count(graph.reachable({f: fractions(60000) | some f in [1, 2]}, [1])) == 0`,
		"sort of what begins alike":              `{ t := json.marshal(numbers.range(1, 60000)); count(sort([[json.unmarshal(t), i] | some i in numbers.range(1, 40)])) == 0 }`,
		"sort of the input's parts":              `{ a := json.unmarshal(json.marshal(numbers.range(1, 3000))); b := json.unmarshal(json.marshal(numbers.range(1, 3000))); count(sort([[x, i] | some i in numbers.range(1, 2500); some x in [a, b]])) == 0 }`,
		"a set's sort of what begins alike":      `{ a := json.unmarshal(json.marshal(numbers.range(1, 3000))); b := json.unmarshal(json.marshal(numbers.range(1, 3000))); count([s | some s in {[x, i] | some i in numbers.range(1, 2500); some x in [a, b]}]) == 0 }`,
		"sum":                                    `sum([n | some i in numbers.range(1, 40000); n := to_number(sprintf("%s%d", [substring(replace(kb, "a", "1"), 0, 390), i]))]) == 0`,
		"semver.compare":                         `semver.compare(concat("", ["1.0.0-", ten]), concat("", ["1.0.0-", ten, "b"])) == 0`,
		"urlquery.decode":                        `count(urlquery.decode(replace(mb, "a", "%61"))) == 0`,
		"base64.decode":                          `count(base64.decode(ten)) == 0`,
		"upper":                                  `upper(mb) == mb`,
		"time.parse_ns":                          `time.parse_ns(ten, ten) == 0`,
		"time.format":                            `count(time.format([0, "UTC", mb])) == 0`,
		"crypto.sha512":                          `crypto.hmac.sha512(ten, ten) == ""`,
		"json.marshal":                           `count(json.marshal([i | some i in numbers.range(1, 200000)])) == 0`,
		"sprintf":                                `count(sprintf("%v", [[i | some i in numbers.range(1, 200000)]])) == 0`,
		"split":                                  `count(split(mb, concat("", [kb, "b"]))) == 0`,
		"glob.quote_meta":                        `count(glob.quote_meta(mb)) == 0`,
		"walk":                                   `{ walk([i | some i in numbers.range(1, 200000)], [["x"], _]) }`,
		"a reference over all parts":             `{ a := [[i | some i in numbers.range(1, 400)] | some _ in numbers.range(1, 400)]; a[_][_] == 401 }`,
		"uri.parse":                              `uri.parse(concat("", ["http://", mb])) == {}`,
		"units.parse_bytes":                      `units.parse_bytes(mb) == 0`,
		"array.flatten":                          `count(array.flatten([[[i]] | some i in numbers.range(1, 100000)])) == 0`,
		"strings.any_prefix_match of many texts": `strings.any_prefix_match([sprintf("%d", [i]) | some i in numbers.range(1, 100000)], [sprintf("%db", [i]) | some i in numbers.range(1, 100000)])`,
		"strings.any_suffix_match of texts that end alike": `strings.any_suffix_match([sprintf("%d%s", [i, kb]) | some i in numbers.range(1, 1000)], [sprintf("%db%s", [i, kb]) | some i in numbers.range(1, 1000)])`,
	} {
		out[name] = texts + `deny contains "x" if ` + ask
	}
	return out
}
