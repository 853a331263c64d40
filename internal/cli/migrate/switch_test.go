// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"strings"
	"testing"

	"evenkeel.dev/evenkeel/test/commandline"
)

func TestAComparisonIsCalledRightly(t *testing.T) {
	for _, flags := range []string{"--for=-1s", "--for=1h --every=0s", "--every=-1m"} {
		_, message, code := commandline.Invoke(t, NewCommand(), append([]string{"gatekeeper", "compare"},
			strings.Fields(flags)...)...)
		if want := "--every must be longer than 0s"; code != 2 || !strings.Contains(message, want) {
			t.Errorf("%s: code %d, %q; want 2 and %q", flags, code, message, want)
		}
	}
}

func TestASwitchIsCalledRightly(t *testing.T) {
	for args, want := range map[string]string{
		"a":                   "there is no terminal to ask on",
		"a --yes --delay=-1s": "can't be negative",
		"a --timeout=-1s":     "can't be negative",
		"a --yes --force":     "--force and --reason go together",
	} {
		for _, name := range []string{"switch", "switch-back"} {
			t.Run(name+" "+args, func(t *testing.T) {
				_, message, code := commandline.Invoke(t, NewCommand(), append([]string{"gatekeeper", name},
					strings.Fields(args)...)...)
				if code != 2 || !strings.Contains(message, want) {
					t.Errorf("code %d, %q; want 2 and %q", code, message, want)
				}
			})
		}
	}
}
