// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"testing"

	"evenkeel.dev/evenkeel/internal/policy"
)

func TestRunbooksLeadToWhereTheDocumentationIs(t *testing.T) {
	for name, c := range map[string]struct{ base, runbook, want string }{
		"as published, without an address of one's own": {runbook: "https://evenkeel.dev/docs/policies/a",
			want: "https://evenkeel.dev/docs/policies/a"},
		"the library's policy at one's own address": {
			base: "https://wiki.example.com/ek/", runbook: "https://evenkeel.dev/docs/policies/a",
			want: "https://wiki.example.com/ek/policies/a"},
		"one's own policy stays as it names its runbook": {
			base: "https://wiki.example.com/ek", runbook: "https://runbooks.example.com/a",
			want: "https://runbooks.example.com/a"},
		"a host that only begins alike is another one": {
			base: "https://wiki.example.com/ek", runbook: "https://evenkeel.dev/docs.evil/a",
			want: "https://evenkeel.dev/docs.evil/a"},
	} {
		t.Run(name, func(t *testing.T) {
			docs, err := policy.NewDocs(c.base)
			if err != nil {
				t.Fatal(err)
			}
			if got := docs.Runbook(c.runbook); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestAnAddressThatIsNoneIsRefused(t *testing.T) {
	for _, address := range []string{"wiki", "ftp://wiki.example.com", "https://", "https://a:b@wiki.example.com",
		"https://wiki.example.com/?q=1", "https://wiki.example.com/#x", "javascript:alert(1)"} {
		if _, err := policy.NewDocs(address); err == nil {
			t.Errorf("%s is taken", address)
		}
	}
}
