// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

func TestTheEngineIsOneThatThereIs(t *testing.T) {
	for engine, right := range map[string]bool{
		"": true, "topdown": true, "compiled": true, "opa": false, "Compiled": false,
	} {
		t.Run(engine, func(t *testing.T) {
			var o Options
			flags := pflag.NewFlagSet("manager", pflag.ContinueOnError)
			o.AddFlags(flags)
			if engine != "" { // otherwise the default
				if err := flags.Set("engine", engine); err != nil {
					t.Fatal(err)
				}
			}
			err := o.Validate()
			if named := err != nil && strings.Contains(err.Error(), "--engine"); named == right {
				t.Errorf("error %v, right %v", err, right)
			}
		})
	}
}

func TestHowOftenTheManagerLooksHasALimit(t *testing.T) {
	cases := map[string]map[string]bool{
		"rollout-poll-interval": {"": true, "0s": true, "100ms": true, "1m": true, "99ms": false, "-1s": false},
		"plan-interval":         {"": true, "1s": true, "999ms": false, "0s": false, "-1s": false},
		"plan-delay":            {"": true, "100ms": true, "99ms": false, "0s": false, "-1s": false},
		"storm-interval": {"": true, "1s": true, "1m": true, "999ms": false, "61s": false, "0s": false,
			"-1s": false},
	}
	for flag, intervals := range cases {
		for interval, right := range intervals {
			t.Run(flag+" "+interval, func(t *testing.T) {
				var o Options
				flags := pflag.NewFlagSet("manager", pflag.ContinueOnError)
				o.AddFlags(flags)
				if interval != "" { // otherwise the default
					if err := flags.Set(flag, interval); err != nil {
						t.Fatal(err)
					}
				}
				err := o.Validate()
				if named := err != nil && strings.Contains(err.Error(), "--"+flag); named == right {
					t.Errorf("error %v, right %v", err, right)
				}
			})
		}
	}
}

func TestTheMemoryOfReferencesIsAQuantity(t *testing.T) {
	for quantity, right := range map[string]bool{
		"": true, "1Mi": true, "256Mi": true, "2G": true, "1023Ki": false, "-1Gi": false, "256MB": false, "much": false,
	} {
		t.Run(quantity, func(t *testing.T) {
			var o Options
			flags := pflag.NewFlagSet("manager", pflag.ContinueOnError)
			o.AddFlags(flags)
			if quantity != "" { // otherwise the default
				if err := flags.Set("reference-max-memory", quantity); err != nil {
					t.Fatal(err)
				}
			}
			err := o.Validate()
			if named := err != nil && strings.Contains(err.Error(), "--reference-max-memory"); named == right {
				t.Errorf("error %v, right %v", err, right)
			}
		})
	}
}
