// SPDX-License-Identifier: Apache-2.0

package request_test

import (
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/internal/cli/request"
)

func TestTheEndOfWhatIsAskedFor(t *testing.T) {
	now := time.Date(2027, 1, 7, 8, 0, 0, 1, time.UTC)
	cases := map[string]struct {
		args  string
		most  time.Duration
		want  string // the end; empty for none
		wrong string
	}{
		"none":                    {},
		"a while":                 {args: "--for 2h", want: "2027-01-07T10:00:00Z"},
		"a time":                  {args: "--until 2027-01-08T09:00:00+01:00", want: "2027-01-08T08:00:00Z"},
		"a while that is none":    {args: "--for 0s", wrong: "--for 0s: a pause ends in time to come"},
		"a while that has passed": {args: "--for -1h", wrong: "say how long it is to last, for example 2h"},
		"a time that has passed":  {args: "--until 2027-01-07T08:00:00Z", wrong: "and it is 2027-01-07T08:00:00Z now"},
		"a time that can't be read": {args: "--until tomorrow",
			wrong: `--until "tomorrow" is no time: give one such as 2027-01-07T08:00:00Z, or say how long with --for 2h`},
		"an empty time":     {args: "--until=", wrong: `--until "" is no time`},
		"both":              {args: "--for 2h --until 2027-01-08T08:00:00Z", wrong: "give one of them"},
		"as long as may be": {args: "--for 168h", most: 168 * time.Hour, want: "2027-01-14T08:00:00Z"},
		"too long": {args: "--for 169h", most: 168 * time.Hour,
			wrong: "a pause lasts 168h at most; do otherwise"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			end := request.End{Of: "a pause", Most: tc.most, Lasting: "do otherwise"}
			cmd := &cobra.Command{}
			end.Takes(cmd)
			if err := cmd.ParseFlags(strings.Fields(tc.args)); err != nil {
				t.Fatal(err)
			}
			got, err := end.Time(now)
			if tc.wrong != "" {
				if err == nil || !strings.Contains(err.Error(), tc.wrong) || !end.Given() {
					t.Errorf("err %v, given %t; want %q", err, end.Given(), tc.wrong)
				}
				return
			}
			if err != nil || text(got) != tc.want || end.Given() != (tc.want != "") {
				t.Errorf("got %q, %v, given %t; want %q", text(got), err, end.Given(), tc.want)
			}
		})
	}
}

func text(end *metav1.Time) string {
	if end == nil {
		return ""
	}
	return end.Format(time.RFC3339)
}
