// SPDX-License-Identifier: Apache-2.0

package rego_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"evenkeel.dev/evenkeel/internal/policy/rego"
)

// hostileVariable names the policy that a child of the test is to evaluate, and engineVariable
// by what.
const (
	hostileVariable = "EVENKEEL_HOSTILE_POLICY"
	engineVariable  = "EVENKEEL_HOSTILE_ENGINE"
)

const (
	// hostileLimit is the time limit in force.
	hostileLimit = time.Second
	// hostilePatience is how long an evaluation may go on on a busy machine; what it is held
	// to is time of the processor.
	hostilePatience = time.Minute
	// hostileMemory is the most memory that the child may ever take, in bytes: what
	// built-ins may make, what else the heap may grow by, and as much again for
	// garbage and the process itself.
	hostileMemory = 512 << 20
)

// doubled makes x40, which holds 2^40 times what x0 is, in a kilobyte.
func doubled(first, step string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "x0 := %s\n", first)
	for i := 1; i <= 40; i++ {
		fmt.Fprintf(&b, "x%d := %s\n", i, strings.ReplaceAll(step, "X", fmt.Sprintf("x%d", i-1)))
	}
	return b.String()
}

// chain is doubled in the body of one rule, for a variable of another name.
func chain(name string) string {
	return strings.NewReplacer("x", "\t"+name, "[\t"+name, "["+name, ", \t", ", ").Replace(doubled(`["a"]`, `[X, X]`))
}

// nested calls a function on its own result forty times.
var nested = strings.Repeat("twice(", 40) + `["a"]` + strings.Repeat(")", 40)

const kilobytes = `kb := concat("", [c | some _ in numbers.range(1, 1000); c := "abcdefgh"])
mb := concat("", [kb | some _ in numbers.range(1, 100)])
`

// hostile are policies that would fill the memory or take for ever. Each has a
// violation of its own besides, which must be found.
func hostile() map[string]string {
	out := hostileToMemory()
	maps.Copy(out, hostileToTime())
	maps.Copy(out, hostileByLargeInput())
	return out
}

func hostileToMemory() map[string]string {
	aliases := "a: &a [x,x,x,x,x,x,x,x,x]\n"
	for i := range 8 {
		aliases += fmt.Sprintf("%c: &%c [*%c,*%c,*%c,*%c,*%c,*%c,*%c,*%c,*%c]\n", 'b'+i, 'b'+i, 'a'+i, 'a'+i, 'a'+i,
			'a'+i, 'a'+i, 'a'+i, 'a'+i, 'a'+i, 'a'+i)
	}
	return map[string]string{
		"concat of gigabytes": kilobytes +
			`deny contains "x" if count(concat("", [mb | some _ in numbers.range(1, 5000)])) > 0`,
		"concat with a long separator": kilobytes +
			`deny contains "x" if count(concat(mb, [c | some _ in numbers.range(1, 5000); c := ""])) > 0`,
		"sprintf at full width": `deny contains "x" if count(sprintf(concat("", [f | some _ in numbers.range(1, 5000); f := "%999999d"]), numbers.range(1, 5000))) > 0`,
		"sprintf of one argument": kilobytes +
			`deny contains "x" if count(sprintf(concat("", [f | some _ in numbers.range(1, 5000); f := "%[1]s"]), [mb])) > 0`,
		"sprintf of shared parts":    doubled(`["x"]`, `[X, X]`) + `deny contains sprintf("%v", [x40])`,
		"a template of shared parts": doubled(`["x"]`, `[X, X]`) + "deny contains $\"{x40}\"",
		"replace of every byte":      kilobytes + `deny contains "x" if count(replace(mb, "a", kb)) > 0`,
		"replace_n of every byte": kilobytes +
			`deny contains "x" if count(strings.replace_n({"a": kb, "b": kb, "c": kb}, mb)) > 0`,
		"regex.replace of nothing": kilobytes + `deny contains "x" if count(regex.replace(mb, "", kb)) > 0`,
		"regex.replace of groups": kilobytes +
			`deny contains "x" if count(regex.replace(mb, "(.*)", concat("", [g | some _ in numbers.range(1, 5000); g := "$1"]))) > 0`,
		"split at every byte": kilobytes +
			`deny contains "x" if count(split(concat("", [mb | some _ in numbers.range(1, 10)]), "")) == 0`,
		"repeated squaring":        doubled(`7777777777`, `X * X`) + `deny contains "x" if x40 == 0`,
		"a product of many":        `deny contains "x" if product(numbers.range(1, 200000)) == 0`,
		"a number of one exponent": `deny contains "x" if units.parse("1e999999") * units.parse("1e999999") == 0`,
		"a range without an end":   `deny contains "x" if count(numbers.range(1, 1000000000000)) == 0`,
		"doubled arrays": doubled(`[1, 2]`, `array.concat(X, X)`) +
			`deny contains "x" if count(x40) == 0`,
		"doubled texts": doubled(`"ab"`, `concat("", [X, X])`) +
			`deny contains "x" if count(x40) == 0`,
		"texts doubled by functions": "f(v) := concat(\"\", [v, v])\n" +
			`deny contains "x" if count(` + strings.Repeat("f(", 40) + `"ab"` + strings.Repeat(")", 40) + `) == 0`,
		"a union of large objects": `o := {sprintf("%d", [i]): i | some i in numbers.range(1, 30000)}` +
			"\n" + `deny contains "x" if count(object.union_n([o | some _ in numbers.range(1, 5000)])) == 0`,
		"unions of shared parts": doubled(`{"a": 1}`, `{"a": X, "b": X}`) + doubledUnion,
		"json.marshal of shared parts": doubled(`["x"]`, `[X, X]`) +
			`deny contains "x" if count(json.marshal(x40)) == 0`,
		"yaml.marshal of shared parts": doubled(`["x"]`, `[X, X]`) +
			`deny contains "x" if count(yaml.marshal(x40)) == 0`,
		"indentation": kilobytes +
			`deny contains "x" if count(json.marshal_with_options(numbers.range(1, 10000), {"pretty": true, "indent": kb})) == 0`,
		"a patch that copies the whole": `ops := [o | some i in numbers.range(1, 40); o := {"op": "copy", "from": "", "path": sprintf("/c%d", [i])}]` + "\n" + `deny contains "x" if json.patch({"a": "b"}, ops) == {}`,
		"aliases of aliases":            fmt.Sprintf("deny contains \"x\" if yaml.unmarshal(%q) == {}", aliases),
		"details of shared parts":       doubled(`["x"]`, `[X, X]`) + `deny contains {"msg": "x", "details": x40}`,
		"a message of shared parts":     doubled(`["x"]`, `[X, X]`) + `deny contains x40`,
		"a key of shared parts":         doubled(`["x"]`, `[X, X]`) + `deny contains {"msg": "x", x40: 1}`,
		"a fix of shared parts": doubled(`["x"]`, `[X, X]`) +
			`remediation contains {"action": "patch", "ops": [{"op": "add", "path": "/spec/x", "value": x40}]} if true`,
		"a long message": kilobytes + `deny contains mb if true`,
		"many long messages": kilobytes +
			`deny contains sprintf("%d %s", [i, kb]) if some i in numbers.range(1, 100000)`,
		"many violations": `deny contains sprintf("%d", [i]) if { some a in numbers.range(1, 100000); some b in numbers.range(1, 100); i := (a * 100) + b }`,
		"many texts held at once": kilobytes +
			`held := [t | some i in numbers.range(1, 100000); t := sprintf("%d %s", [i, mb])]` + "\n" +
			`deny contains "x" if count(held) == 0`,
		"a wide array held many times": `held := [w | some a in numbers.range(1, 100000); some b in numbers.range(1, 100); w := [a, b, ` + strings.Repeat("a, b, ", 2000) + `a]]` + "\n" + `deny contains "x" if count(held) == 0`,
		"a set without an end":         `held := {[a, b] | some a in numbers.range(1, 100000); some b in numbers.range(1, 100000)}` + "\n" + `deny contains "x" if count(held) == 0`,
		"a comparison of shared parts": doubled(`["x"]`, `[X, X]`) +
			strings.ReplaceAll(doubled(`["x"]`, `[X, X]`), "x", "y") + `deny contains "x" if x40 == y40`,
		"in a list of shared parts": doubled(`["x"]`, `[X, X]`) +
			strings.ReplaceAll(doubled(`["x"]`, `[X, X]`), "x", "y") + `deny contains "x" if x40 in [1, y40]`,
		"a sort of shared parts": doubled(`["x"]`, `[X, X]`) +
			strings.ReplaceAll(doubled(`["x"]`, `[X, X]`), "x", "y") +
			`deny contains "x" if count(sort([x40, y40])) == 0`,
		"a set of shared parts": doubled(`["x"]`, `[X, X]`) +
			strings.ReplaceAll(doubled(`["x"]`, `[X, X]`), "x", "y") + `deny contains "x" if count({x40, y40}) == 0`,
		"keys of shared parts": doubled(`["x"]`, `[X, X]`) +
			strings.ReplaceAll(doubled(`["x"]`, `[X, X]`), "x", "y") + `deny contains "x" if {x40: 1}[y40] == 0`,
		"a walk over shared parts": doubled(`["x"]`, `[X, X]`) +
			`deny contains "x" if { walk(x40, [p, v]); v == p }`,
		"shared parts of objects": doubled(`{"a": 1}`, `{"a": X, "b": X}`) +
			`deny contains "x" if x40.a == x40.b`,
		"shared parts of sets":     doubled(`{1}`, `{[X, 1], [X, 2]}`) + `deny contains "x" if x40 == 1`,
		"shared parts in one body": "deny contains \"x\" if {\n" + chain("a") + "\tcount(a40) == 0\n}",
		"a comparison in one body": "deny contains \"x\" if {\n" + chain("a") + chain("b") +
			"\ta40 == b40\n}",
		"nested calls": "twice(v) := [v, v]\ndeny contains \"x\" if count(" + nested + ") == 0",
		"functions that call others": "f0(v) := [v, v]\n" + functions() +
			"deny contains \"x\" if count(f40(1)) == 0",
		"shared parts by comprehension": doubled(`["x"]`, `[[X, X] | true]`) +
			`deny contains "x" if count(x40) == 0`,
		"shared parts by destructuring": "deny contains \"x\" if {\n\ta0 := [1]\n" + destructured() +
			"\tcount(a40) == 0\n}",
		"shared parts by another input": "x0 := [input, input]\n" + withInput() +
			`deny contains "x" if count(x40) == 0`,
		"nested loops": `deny contains "x" if ` + endless,
	}
}

// functions double what the one before gives.
func functions() string {
	var b strings.Builder
	for i := 1; i <= 40; i++ {
		fmt.Fprintf(&b, "f%d(v) := w if { u := f%d(v); w := {\"a\": u, \"b\": u} }\n", i, i-1)
	}
	return b.String()
}

// destructured doubles by patterns.
func destructured() string {
	var b strings.Builder
	for i := 1; i <= 40; i++ {
		fmt.Fprintf(&b, "\t[a%d, _] := [[a%d, a%d], 1]\n", i, i-1, i-1)
	}
	return b.String()
}

// withInput doubles by rules that are asked with another input.
func withInput() string {
	var b strings.Builder
	for i := 1; i <= 40; i++ {
		fmt.Fprintf(&b, "x%d := v if v := x0 with input as x%d\n", i, i-1)
	}
	return b.String()
}

const doubledUnion = `deny contains "x" if object.union(x40, {"c": 1}) == {}`

// TestHostilePolicies evaluates each in a process of its own, and holds it to twice
// the time limit and to a stated amount of memory.
func TestHostilePolicies(t *testing.T) {
	if testing.Short() {
		t.Skip("each takes a process, and some a second")
	}
	for _, engine := range []rego.Engine{rego.Topdown, rego.CompiledEngine} {
		for name := range hostile() {
			t.Run(string(engine)+"/"+name, func(t *testing.T) { runHostile(t, name, engine) })
		}
	}
}

// TestHostilePoliciesOnOneProcessor is for a container that has one: there a timer fires late.
func TestHostilePoliciesOnOneProcessor(t *testing.T) {
	if testing.Short() {
		t.Skip("each takes seconds")
	}
	t.Setenv("GOMAXPROCS", "1")
	for _, engine := range []rego.Engine{rego.Topdown, rego.CompiledEngine} {
		t.Run(string(engine), func(t *testing.T) { runHostile(t, "many costly calls in many rules", engine) })
	}
}

// runHostile takes the cheapest of a few evaluations: what else the machine does adds to the
// time of the processor (caches, a late timer) and never takes from it.
func runHostile(t *testing.T, name string, engine rego.Engine) {
	t.Helper()
	cost := evaluateHostile(t, name, engine)
	for again := 2; again > 0 && cost.CPU > 2*hostileLimit; again-- {
		t.Logf("%s of the processor: once more", cost.CPU)
		cost = evaluateHostile(t, name, engine)
	}
	if cost.CPU > 2*hostileLimit {
		t.Errorf("it took %s of the processor: at most twice the limit of %s is allowed", cost.CPU, hostileLimit)
	}
	if cost.Memory > hostileMemory {
		t.Errorf("it took %d MiB of memory: at most %d are allowed", cost.Memory>>20, hostileMemory>>20)
	}
	t.Logf("%s, %d MiB: %s", cost.CPU, cost.Memory>>20, cost.Err)
}

func evaluateHostile(t *testing.T, name string, engine rego.Engine) (cost hostileCost) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), hostilePatience)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestEvaluateOneHostilePolicy$", "-test.v")
	cmd.Env = append(os.Environ(), hostileVariable+"="+name, engineVariable+"="+string(engine), "GOGC=100")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil && ctx.Err() != nil {
		t.Fatalf("it went on for %s: %v", hostilePatience, err)
	} else if err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	_, line, _ := strings.Cut(out.String(), "cost: ")
	if err := json.NewDecoder(strings.NewReader(line)).Decode(&cost); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	return cost
}

type hostileCost struct {
	CPU    time.Duration
	Memory int64
	Err    string
}

// TestEvaluateOneHostilePolicy is the child: it evaluates the policy that it is
// told, which must neither pass nor hide the violation beside it.
func TestEvaluateOneHostilePolicy(t *testing.T) {
	name := os.Getenv(hostileVariable)
	if name == "" {
		t.Skip("TestHostilePolicies runs this in a process of its own")
	}
	before := processorTime(t)
	c, err := rego.Compile(podPolicy(header + hostile()[name] + "\n\ndeny contains \"known\" if true\n"))
	if err != nil {
		if !strings.Contains(err.Error(), "may hold one part") && !strings.Contains(err.Error(), "types are nested") &&
			!strings.Contains(err.Error(), "must be one of") {
			t.Fatal(err)
		}
		tell(t, hostileCost{CPU: processorTime(t) - before, Memory: peakMemory(t), Err: "refused: " + err.Error()})
		return
	}
	c = c.On(rego.Engine(os.Getenv(engineVariable)))
	in := input(t, hostileRequest(name))
	before = processorTime(t)
	got := c.Evaluate(t.Context(), in, hostileLimit)
	cost := hostileCost{CPU: processorTime(t) - before, Memory: peakMemory(t), Err: fmt.Sprint(got.Err, got.FixErr)}
	found := len(got.Violations) > 2000 // others have taken all the room that violations have
	for _, v := range got.Violations {
		found = found || v.Message == "known"
	}
	copies := name == byLargeInput+"with" || name == byLargeInput+"mocks"
	harmless := name == "nested calls" || name == "shared parts by another input"
	judged := strings.HasPrefix(name, "one call") || copies || harmless // if it ends in time
	if !found || (!judged && len(got.Violations) == 1 && got.Err == nil && got.FixErr == nil) {
		t.Errorf("%d violations, error %v, %v", len(got.Violations), got.Err, got.FixErr)
	}
	tell(t, cost)
}

func tell(t *testing.T, cost hostileCost) {
	t.Helper()
	text, err := json.Marshal(cost)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(os.Stdout, "cost: %s\n", text)
}

func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		t.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// peakMemory is the most memory that the process ever had, as Linux counts it.
func peakMemory(t *testing.T) int64 {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(string(status), "\n") {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kilobytes, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(rest, "kB")), 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return kilobytes << 10
		}
	}
	t.Fatal("/proc/self/status has no VmHWM")
	return 0
}
