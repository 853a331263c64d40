// SPDX-License-Identifier: Apache-2.0

package freeze

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	clocktesting "k8s.io/utils/clock/testing"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

const both = `freezes:
- {name: year-end, reason: nobody is on call, from: 2026-12-20T00:00:00Z, until: 2027-01-07T09:00:00+01:00}
- {name: trading, reason: the exchange is open, schedule: "0 8 * * 1-5", duration: 10h, timeZone: Europe/Berlin}
`

func instant(t *testing.T, text string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func TestAFreezeLetsNoWriteBegin(t *testing.T) {
	cases := map[string]struct {
		reason, now, file string
		closed            string // the reason of the gate
		says              string
	}{
		"before it": {"a Saturday", "2026-12-19T23:59:59Z", both, "", ""},
		"its first instant": {"it has begun", "2026-12-20T00:00:00Z", both, v1alpha1.ReasonFrozen,
			"freeze year-end of the whole cluster until 2027-01-07T08:00:00Z: nobody is on call"},
		"its last instant": {"it is told, though the exchange has opened", "2027-01-07T07:59:59Z", both,
			v1alpha1.ReasonFrozen, "freeze year-end"},
		"after it, within the other": {"the next is told", "2027-01-07T08:00:00Z", both, v1alpha1.ReasonFrozen,
			"freeze trading of the whole cluster until 2027-01-07T17:00:00Z: the exchange"},
		"after both": {"the exchange has closed", "2027-01-07T17:00:00Z", both, "", ""},
		"without a beginning": {"it began at once", "2001-01-01T00:00:00Z",
			`freezes: [{name: a, reason: r, until: 2027-01-01T00:00:00Z}]`, v1alpha1.ReasonFrozen, "until 2027"},
		"without an end": {"each minute joins the next: that is no freeze, but a breaker held open",
			"2027-01-01T00:00:00Z", `freezes: [{name: a, reason: r, schedule: "* * * * *", duration: 1m}]`,
			v1alpha1.ReasonFreezesUnreadable, "without a pause"},
		"two documents": {"the second would be dropped", "2026-12-24T00:00:00Z", "freezes: []\n---\n" + both,
			v1alpha1.ReasonFreezesUnreadable, "more than one YAML document"},
		"two documents, ended by dots": {"the same", "2026-12-24T00:00:00Z", "freezes: []\n...\n" + both,
			v1alpha1.ReasonFreezesUnreadable, "more than one YAML document"},
		"a key with other capitals": {"the last would count", "2026-12-24T00:00:00Z", both + "Freezes: []\n",
			v1alpha1.ReasonFreezesUnreadable, `unknown field "Freezes"`},
		"a key of a freeze with other capitals": {"the same", "2026-12-24T00:00:00Z",
			"freezes: [{name: a, reason: r, until: 2027-01-01T00:00:00Z, Until: 2026-01-01T00:00:00Z}]",
			v1alpha1.ReasonFreezesUnreadable, `unknown field "freezes[0].Until"`},
		"none": {"an empty list is one", "2026-12-24T00:00:00Z", "freezes: []", "", ""},
		"an empty file": {"a file that was cut off is no word that there are none", "2026-12-24T00:00:00Z", "",
			v1alpha1.ReasonFreezesUnreadable, `there is no list "freezes"`},
		"a misspelt field": {"it could be any", "2026-12-24T00:00:00Z",
			`freezes: [{name: a, reason: r, til: 2027-01-01T00:00:00Z}]`,
			v1alpha1.ReasonFreezesUnreadable, "unknown field"},
		"a broken one beside a good one": {"nobody knows what it means", "2001-01-01T00:00:00Z",
			both + `- {name: x, reason: r}`, v1alpha1.ReasonFreezesUnreadable, "freezes[2]: give either until"},
		"too large a file": {"it isn't read whole", "2001-01-01T00:00:00Z", both + strings.Repeat("#\n", maxFile/2),
			v1alpha1.ReasonFreezesUnreadable, "bytes"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "freezes.yaml")
			if err := os.WriteFile(file, []byte(tc.file), 0o600); err != nil {
				t.Fatal(err)
			}
			got := File(file).Gate(instant(t, tc.now))
			if got.Closed != (tc.closed != "") || got.Reason != tc.closed || !strings.Contains(got.Message, tc.says) {
				t.Errorf("%s: got %+v, want %q with %q", tc.reason, got, tc.closed, tc.says)
			}
		})
	}
}

func TestWhatIsNoFreezeIsNamed(t *testing.T) {
	const sound = `{name: a, reason: r, until: 2027-01-01T00:00:00Z}`
	for text, want := range map[string]string{
		`{reason: r, until: 2027-01-01T00:00:00Z}`:                                      "freezes[0]: name: must have",
		`{name: a, until: 2027-01-01T00:00:00Z}`:                                        "reason: must have",
		`{name: a, reason: "r\nr", until: 2027-01-01T00:00:00Z}`:                        "printable",
		`{name: a, reason: r, from: 2027-01-01T00:00:00Z}`:                              "must have an end",
		`{name: a, reason: r, from: 2027-01-02T00:00:00Z, until: 2027-01-02T00:00:00Z}`: "isn't after from",
		`{name: a, reason: r, until: tomorrow}`:                                         "tomorrow",
		`{name: a, reason: r, until: 2027-01-01T00:00:00Z, duration: 1h}`:               "give either",
		`{name: a, reason: r, schedule: "0 0 * * *"}`:                                   "duration",
		`{name: a, reason: r, schedule: "noon", duration: 1h}`:                          "schedule",
		`{name: a, reason: r, schedule: "0 0 * * *", duration: 1h, timeZone: Moon}`:     "timeZone",
		sound + "," + sound:           "two of the name",
		strings.Repeat(sound+",", 51): "51 freezes",
	} {
		if _, err := Parse([]byte("freezes: [" + text + "]")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// The file is read each time: a change counts at once, and one that takes it away closes.
func TestTheFileIsReadEachTime(t *testing.T) {
	now := instant(t, "2026-12-24T00:00:00Z")
	file := filepath.Join(t.TempDir(), "freezes.yaml")
	registry := prometheus.NewRegistry()
	File(file).Register(registry, clocktesting.NewFakePassiveClock(now))
	write := func(text string) func() error {
		return func() error { return os.WriteFile(file, []byte(text), 0o600) }
	}
	for _, step := range []struct {
		does   func() error
		reason string
		figure string
	}{
		{func() error { return nil }, v1alpha1.ReasonFreezesUnreadable, "evenkeel_remediation_freezes_unreadable 1"},
		{write(both), v1alpha1.ReasonFrozen, "evenkeel_remediation_frozen 1"},
		{write("freezes: []"), "", "evenkeel_remediation_frozen 0"},
		{func() error { return os.Remove(file) }, v1alpha1.ReasonFreezesUnreadable,
			"evenkeel_remediation_freezes_unreadable 1"},
	} {
		if err := step.does(); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(step.reason, File(file).Gate(now).Reason); diff != "" {
			t.Error(diff)
		}
		if got := figures(t, registry); !strings.Contains(got, step.figure) {
			t.Errorf("no %q in %s", step.figure, got)
		}
	}
}

// figures are the gauges of a registry, each with its value.
func figures(t *testing.T, registry prometheus.Gatherer) string {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	text := ""
	for _, f := range families {
		text += fmt.Sprintf("%s %v\n", f.GetName(), f.GetMetric()[0].GetGauge().GetValue())
	}
	return text
}

func TestWithoutAFileNothingIsFrozen(t *testing.T) {
	if got := File("").Gate(time.Now()); got.Closed {
		t.Errorf("got %+v", got)
	}
}
