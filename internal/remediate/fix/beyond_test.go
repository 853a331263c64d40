// SPDX-License-Identifier: Apache-2.0

package fix

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/action"
	"evenkeel.dev/evenkeel/internal/remediate/surplus"
	"evenkeel.dev/evenkeel/test/fixtest"
)

func TestAProofHoldsNoValueOfASecret(t *testing.T) {
	proofOf := func(value string) *v1alpha1.ExpectedContent {
		proof, err := surplus.Expect(fixtest.Holding(map[string]any{"password": value}, "Secret"), "",
			v1alpha1.FieldManager)
		if err != nil {
			t.Fatal(err)
		}
		return proof
	}
	if diff := cmp.Diff(proofOf("aHVudGVyMg=="), proofOf("b3RoZXI=")); diff != "" {
		t.Errorf("a guess can be confirmed: %s", diff)
	}
	live := fixtest.Holding(map[string]any{"password": "b3RoZXI=", "more": "c2VjcmV0cw=="}, "Secret")
	rec := &v1alpha1.WriteRecord{Expected: proofOf("aHVudGVyMg==")}
	if err := Arrived(rec, live); err != nil || rec.Beyond != "/data/more" || rec.Surplus != "/data/more" ||
		rec.Fields != nil {
		t.Errorf("another key: %+v, %v", rec, err)
	}
}

func TestWhatIsTooLargeForTheRecordIsNamedAndLeft(t *testing.T) {
	proof, err := surplus.Expect(fixtest.Holding(map[string]any{"state": "good"}, "ConfigMap"), "",
		v1alpha1.FieldManager)
	if err != nil {
		t.Fatal(err)
	}
	rec := &v1alpha1.WriteRecord{Expected: proof}
	if err := SetFields(rec, []action.Field{
		{Path: "/data/state", Before: "bad", After: "good", HasBefore: true, HasAfter: true}}); err != nil {
		t.Fatal(err)
	}
	live := fixtest.Holding(map[string]any{"state": "good", "more": strings.Repeat("x", maxBeyondBytes)}, "ConfigMap")
	if err := Arrived(rec, live); err != nil || rec.Surplus != "/data/more" || len(rec.Fields) != 1 {
		t.Errorf("%+v, %v", rec, err)
	}
	noted := NotedBeyond(v1alpha1.TargetRecord{Write: rec})
	if noted.Reason != v1alpha1.ReasonFixChangesMore ||
		!strings.Contains(noted.Message, "/data/more can't be reverted") {
		t.Errorf("%s: %s", noted.Reason, noted.Message)
	}
}

// added is one field that came with a write, of so many bytes as JSON.
func added(t *testing.T, path string, bytes int) action.Field {
	t.Helper()
	field := action.Field{Path: path, After: "", HasAfter: true}
	raw, err := json.Marshal([]action.Field{field})
	if err != nil {
		t.Fatal(err)
	}
	field.After = strings.Repeat("x", max(bytes-len(raw), 0))
	return field
}

func TestARecordTakesWhatJustFits(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		fields int // that the record holds already
		more   action.Field
		fits   bool
	}{
		"as many bytes as there is room for": {reason: "the limit is what still fits", fields: 1,
			more: added(t, "/data/more", maxBeyondBytes), fits: true},
		"a byte more": {reason: "it is named and left", fields: 1, more: added(t, "/data/more", maxBeyondBytes+1)},
		"as many fields as the schema takes": {reason: "the limit is the schema's", fields: maxRecordItems - 1,
			more: added(t, "/data/more", 0), fits: true},
		"a field more": {reason: "the API server would refuse the record", fields: maxRecordItems,
			more: added(t, "/data/more", 0)},
		"as long a path as the schema takes": {reason: "the limit is the schema's", fields: 1,
			more: added(t, "/"+strings.Repeat("p", maxPathBytes-1), 0), fits: true},
		"a longer path": {reason: "the API server would refuse the record", fields: 1,
			more: added(t, "/"+strings.Repeat("p", maxPathBytes), 0)},
	} {
		t.Run(name, func(t *testing.T) {
			var fields []action.Field
			for i := range tc.fields {
				fields = append(fields, action.Field{Path: fmt.Sprintf("/data/k%d", i), After: "v", HasAfter: true})
			}
			rec := &v1alpha1.WriteRecord{}
			if err := addToRecord(rec, fields, []action.Field{tc.more}, nil); err != nil {
				t.Fatal(err)
			}
			recorded := len(rec.Fields) == tc.fields+1 && rec.Surplus == ""
			if named := rec.Fields == nil && rec.Surplus != ""; recorded != tc.fits || named == tc.fits {
				t.Errorf("%d fields recorded, left %.40q, want recorded: %t (%s)", len(rec.Fields), rec.Surplus,
					tc.fits, tc.reason)
			}
		})
	}
}
