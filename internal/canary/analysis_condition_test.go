// SPDX-License-Identifier: Apache-2.0

package canary

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestConditionMet(t *testing.T) {
	type answer struct {
		Met   bool
		Error string
	}
	nan, inf := math.NaN(), math.Inf(1)
	cases := map[string]struct {
		reason           string
		condition        string
		sample, baseline float64
		want             answer
	}{
		"a sample within its bound meets the condition": {
			reason: "the plain case", condition: "sample < 0.05", sample: 0.04, want: answer{Met: true}},
		"a sample on an open bound misses it": {
			reason: "less isn't less or equal", condition: "sample < 0.05", sample: 0.05},
		"whole numbers may stand beside the sample": {
			reason: "people write 5, not 5.0", condition: "sample <= 5 && sample >= baseline - 1", sample: 4,
			baseline: 5, want: answer{Met: true}},
		"a sample is compared with its baseline": {
			reason: "no worse than before by a tenth", condition: "sample <= baseline * 1.1", sample: 12, baseline: 10},
		"an unused baseline isn't looked at": {
			reason: "it was never asked for", condition: "sample < 5", sample: 1, baseline: nan,
			want: answer{Met: true}},
		"NaN is neither met nor missed": {
			reason: "a rate over nothing is NaN", condition: "sample < 5", sample: nan,
			want: answer{Error: "the sample NaN isn't a finite number"}},
		"NaN isn't met by a negation either": {
			reason: "!(NaN > 5) is true in plain arithmetic", condition: "!(sample > 5)", sample: nan,
			want: answer{Error: "the sample NaN isn't a finite number"}},
		"an infinite sample is neither": {
			reason: "a ratio with nothing below the line", condition: "sample > 0.99", sample: inf,
			want: answer{Error: "the sample +Inf isn't a finite number"}},
		"a baseline that is NaN is neither": {
			reason: "nothing to compare with", condition: "sample <= baseline", sample: 1, baseline: nan,
			want: answer{Error: "the baseline NaN isn't a finite number"}},
		"a division by a baseline of zero is neither": {
			reason: "5/0 is greater than everything", condition: "sample / baseline > 0.9", sample: 5,
			want: answer{Error: "evaluate the condition: 5 / 0 isn't a finite number"}},
		"nor is the negation of one": {
			reason: "0/0 is greater than nothing", condition: "!(sample / baseline > 1.1)",
			want: answer{Error: "evaluate the condition: 0 / 0 isn't a finite number"}},
		"a condition may provide for a baseline of zero": {
			reason:    "|| and ?: don't need the side that they don't take",
			condition: "baseline == 0.0 ? sample < 1 : sample / baseline < 1.1", sample: 0.5, want: answer{Met: true}},
		"an overflow is neither": {
			reason: "infinity again", condition: "sample * 1e300 > 1", sample: 1e300,
			want: answer{Error: "evaluate the condition: 1e+300 * 1e+300 isn't a finite number"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c, err := ParseCondition(tc.condition)
			if err != nil {
				t.Fatal(err)
			}
			var got answer
			if got.Met, err = c.Met(tc.sample, tc.baseline); err != nil {
				got.Error = err.Error()
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestCheckCondition(t *testing.T) {
	cases := map[string]struct {
		reason, condition, want string
	}{
		"a comparison is right": {"the usual condition", "sample <= baseline * 1.1", ""},
		"logic over comparisons is right": {
			"bounds on both sides", "sample > 0.5 && (sample < 2 || !(baseline < 2.0))", ""},
		"a broken expression is wrong": {"it can't be read", "sample <", "column 9: Syntax error"},
		"a number is no condition": {"it is neither true nor false", "sample - baseline",
			"must be true or false, not a double"},
		"a condition that is always true is wrong": {"it would pass whatever the metric says", "true",
			"doesn't use sample"},
		"a condition of the baseline alone isn't one": {"it says nothing of the wave", "baseline < 1.0",
			"doesn't use sample"},
		"an unknown name is wrong": {
			"a typing error", "samples < 1", "undeclared reference to 'samples'"},
		"a macro is wrong": {
			"no loops", "[1.0].all(x, x > sample)", "undeclared reference to 'all'"},
		"time is wrong": {
			"the same facts must give the same verdict",
			"timestamp('2020-01-01T00:00:00Z') != timestamp('2020-01-01T00:00:00Z') && sample < 1",
			"undeclared reference to 'timestamp'"},
		"a conversion is wrong": {"NaN can't be smuggled in", "sample != double('NaN')",
			"undeclared reference to 'double'"},
		"a division of whole numbers is wrong": {"CEL would drop the rest: 1/2 is 0", "sample < 1/2",
			"decimal point"},
		"equality with a whole number says how": {"CEL has no such equality", "sample == 5", "decimal point"},
		"an expression beyond the limit is wrong": {
			"the API's limit holds here too", "sample < 1" + strings.Repeat(" && sample < 1", 100), "exceeds limit"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			err := CheckCondition(tc.condition)
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s: got %v, want %q", tc.reason, err, tc.want)
			}
		})
	}
}

func TestNeedsBaseline(t *testing.T) {
	for condition, want := range map[string]bool{
		"sample < 1": false, "sample < baseline": true, "sample > 1 ? baseline < 2.0 : true": true,
	} {
		c, err := ParseCondition(condition)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.NeedsBaseline(); got != want {
			t.Errorf("%s: got %v, want %v", condition, got, want)
		}
	}
}

// The longest condition that the API takes stays within the cost that evaluation
// may have: a condition that is admitted can be evaluated.
func TestTheLongestConditionCanBeEvaluated(t *testing.T) {
	long := "sample<1"
	for len(long)+len("||sample<1") <= conditionLength {
		long += "||sample<1"
	}
	sum := "sample"
	for len(sum)+len("+sample<0") <= conditionLength {
		sum += "+sample"
	}
	for _, expr := range []string{long, sum + "<0"} {
		c, err := ParseCondition(expr)
		if err != nil {
			t.Fatal(err)
		}
		if met, err := c.Met(2, 0); met || err != nil {
			t.Errorf("got %v, %v", met, err)
		}
	}
}

// Whatever the condition and the numbers: no condition is met with a number that
// isn't finite.
func TestNoConditionIsMetWithoutANumber(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, err := ParseCondition(condition().Draw(t, "condition"))
		if err != nil {
			return // refused at admission
		}
		odd := rapid.SampledFrom([]float64{math.NaN(), math.Inf(1), math.Inf(-1)}).Draw(t, "odd")
		if met, err := c.Met(odd, 1); met || err == nil {
			t.Fatalf("a sample of %v: met %v, error %v", odd, met, err)
		}
		if met, err := c.Met(1, odd); c.NeedsBaseline() && (met || err == nil) {
			t.Fatalf("a baseline of %v: met %v, error %v", odd, met, err)
		}
	})
}

// condition draws conditions over sums, products and quotients, right and wrong.
func condition() *rapid.Generator[string] {
	atom := rapid.SampledFrom([]string{"sample", "baseline", "1", "0.0", "-2.5"})
	sum := rapid.Custom(func(t *rapid.T) string {
		return "(" + atom.Draw(t, "a") + rapid.SampledFrom([]string{"+", "-", "*", "/"}).Draw(t, "operator") +
			atom.Draw(t, "b") + ")"
	})
	side := rapid.OneOf(atom, sum)
	return rapid.Custom(func(t *rapid.T) string {
		sign := rapid.SampledFrom([]string{"<", "<=", ">", ">=", "==", "!="}).Draw(t, "sign")
		c := side.Draw(t, "left") + sign + side.Draw(t, "right")
		if rapid.Bool().Draw(t, "negated") {
			return "!(" + c + ")"
		}
		return c
	})
}

func TestCheckQuery(t *testing.T) {
	cases := map[string]struct {
		reason, query, want string
	}{
		"an aggregation is right": {
			"one series", `sum(rate(http_requests_total{code=~"5.."}[5m])) / sum(rate(http_requests_total[5m]))`, ""},
		"a number is right": {"a scalar is one sample", "scalar(up)", ""},
		"a broken query is wrong": {"the provider would refuse it", "sum(rate(x[5m])",
			"unclosed left parenthesis"},
		"an unknown function is wrong": {"a typing error", "summ(up)", "summ"},
		"a range of samples is wrong":  {"not one sample", "up[5m]", "range vector"},
		"a text is wrong":              {"not a number", `"up"`, "string"},
		"nothing at all is wrong":      {"there is no question", "", "no expression"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			err := CheckQuery(tc.query)
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s: got %v, want %q", tc.reason, err, tc.want)
			}
		})
	}
}
