// SPDX-License-Identifier: Apache-2.0

package fix_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/check"
	"evenkeel.dev/evenkeel/internal/check/fix"
	"evenkeel.dev/evenkeel/internal/manifest"
	"evenkeel.dev/evenkeel/internal/policy/rego/inventory"
)

// portOne denies ConfigMaps whose port is 1 where they are looked up, themselves included; its fix sets VALUE.
const portOne = `same := [n | data.inventory.namespace[_].v1.ConfigMap[n].data.port == "1"]
deny contains "port 1 is used" if input.object.metadata.name in same
remediation contains {"action": "patch", "ops": [{"op": "replace", "path": "/data/port", "value": VALUE}]} if {
	input.object.metadata.name in same
}
`

// TestARuleThatLooksTheObjectItselfUp fixes and tells an object that the rules find as it was written: with a fix that
// gives another value each time, and with one that gives the same.
func TestARuleThatLooksTheObjectItselfUp(t *testing.T) {
	const text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {port: \"1\"}\n"
	for value, want := range map[string]string{`concat("", [input.object.data.port, "0"])`: `"10"`, `"2"`: `"2"`} {
		t.Run(value, func(t *testing.T) {
			ctx, stop := context.WithTimeout(t.Context(), time.Minute)
			defer stop()
			file := filepath.Join(t.TempDir(), "a.yaml")
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			documents, err := manifest.Read(ctx, []string{file}, nil, manifest.Options{})
			if err != nil {
				t.Fatal(err)
			}
			subjects := check.Of(documents, "default", nil)
			others := inventory.NewFixed([]map[string]any{subjects[0].Object}, nil)
			snapshot := referring(t, map[string]string{"p": strings.Replace(portOne, "VALUE", value, 1)}, others,
				v1alpha1.ReferencedKind{Kind: "ConfigMap"})

			told, err := check.Run(ctx, snapshot, check.Each(subjects),
				check.Options{Now: at(), Fix: true, Fixed: fix.Teller(snapshot, at())})
			if err != nil || len(told.Results) != 1 || told.Results[0].NoFix != "" ||
				!strings.Contains(told.Results[0].Fix, want) {
				t.Errorf("check tells %+v (%v)", told.Results, err)
			}
			report, err := fix.Run(ctx, snapshot, documents, map[string][]byte{file: []byte(text)},
				fix.Options{Now: at(), Namespace: "default"})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.Replace(text, `"1"`, want, 1), string(report.Files[0].After)); diff != "" ||
				len(report.Changes) != 1 || len(report.Left) != 0 {
				t.Errorf("changes %v, left %v, the text (-want +got):\n%s", report.Changes, report.Left, diff)
			}
		})
	}
}
