// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/gatekeeper/live"
	"evenkeel.dev/evenkeel/test/commandline"
)

func TestAComparisonEndsByItsWorstVerdict(t *testing.T) {
	of := func(verdict live.Verdict, admission *admissionRow) row {
		return row{Constraint: "Teamed/a", Policy: "a", Comparison: live.Comparison{Verdict: verdict},
			Admission: admission}
	}
	asked := func(verdict live.Verdict) *admissionRow { return &admissionRow{Verdict: verdict} }
	cases := map[string]struct {
		rows []row
		want int
	}{
		"equal":                        {[]row{of(live.Equal, nil)}, 0},
		"one differs":                  {[]row{of(live.Equal, nil), of(live.Different, nil)}, 1},
		"one isn't known":              {[]row{of(live.Equal, nil), of(live.Unknown, nil)}, 3},
		"one differs, one isn't known": {[]row{of(live.Unknown, nil), of(live.Different, nil)}, 1},
		"equal at admission too":       {[]row{of(live.Equal, asked(live.Equal))}, 0},
		"they differ at admission":     {[]row{of(live.Equal, asked(live.Different))}, 1},
		"admission isn't known":        {[]row{of(live.Equal, asked(live.Unknown))}, 3},
		"they differ, and admission isn't known": {
			[]row{of(live.Different, asked(live.Unknown))}, 1},
		"nothing is known but of admission": {[]row{of(live.Unknown, asked(live.Equal))}, 3},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			err := (&report{Constraints: tc.rows}).verdict()
			got := 0
			var coded interface{ ExitCode() int }
			if errors.As(err, &coded) {
				got = coded.ExitCode()
			}
			if got != tc.want {
				t.Errorf("code %d (%v), want %d", got, err, tc.want)
			}
		})
	}
}

func TestWhatBothAnswerAtAdmissionIsCompared(t *testing.T) {
	of := live.ObjectKey{Kind: "Service", Namespace: "shop", Name: "web"}
	cases := map[string]struct {
		ours   []string
		theirs []string
		want   string // what the table's details say
		failed error
	}{
		"nothing by both":   {},
		"the same":          {ours: []string{"a", "b"}, theirs: []string{"b", "a"}},
		"only Gatekeeper's": {theirs: []string{"a"}, want: "  only Gatekeeper: Service shop/web: a\n"},
		"only Evenkeel's":   {ours: []string{"a"}, want: "  only Evenkeel:   Service shop/web: a\n"},
		"what couldn't be judged": {failed: errors.New("timeout"),
			want: "  note: Service shop/web: Evenkeel couldn't judge it: timeout\n"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			v := &verdict{}
			v.Err = tc.failed
			for _, message := range tc.ours {
				v.Violations = append(v.Violations, policy.Violation{Message: message})
			}
			r := &admissionRow{Verdict: live.Equal}
			r.hold(of, v, tc.theirs)
			var out bytes.Buffer
			details(&out, "Teamed/a", r.OnlyGatekeeper, r.OnlyEvenkeel, r.Notes)
			want := tc.want
			if want != "" {
				want = "\nTeamed/a\n" + want
			}
			if out.String() != want {
				t.Errorf("it says %q, want %q", out.String(), want)
			}
		})
	}
}

func TestCommandsOnAClusterAreCalledRightly(t *testing.T) {
	for args, want := range map[string]string{
		"compare a b":                 "give one constraint",
		"compare -o xml":              "use one of table, json, yaml",
		"compare --admission-limit=0": "must be above 0",
		"apply a":                     "it takes none",
		"apply --severity=Worst":      `the severity "Worst" isn't supported`,
		"status --nothing":            "unknown flag: --nothing",
	} {
		t.Run(args, func(t *testing.T) {
			_, message, code := commandline.Invoke(t, NewCommand(), append([]string{"gatekeeper"},
				strings.Fields(args)...)...)
			if code != 2 || !strings.Contains(message, want) {
				t.Errorf("code %d, %q; want 2 and %q", code, message, want)
			}
		})
	}
}

func TestAComparisonIsCalledRightly(t *testing.T) {
	for _, flags := range []string{"--for=-1s", "--for=1h --every=0s", "--every=-1m"} {
		_, message, code := commandline.Invoke(t, NewCommand(), append([]string{"gatekeeper", "compare"},
			strings.Fields(flags)...)...)
		if want := "--every must be longer than 0s"; code != 2 || !strings.Contains(message, want) {
			t.Errorf("%s: code %d, %q; want 2 and %q", flags, code, message, want)
		}
	}
}
