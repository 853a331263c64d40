// SPDX-License-Identifier: Apache-2.0

package fix

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/remediate/action"
	"evenkeel.dev/evenkeel/internal/remediate/fixtest"
	"evenkeel.dev/evenkeel/internal/remediate/surplus"
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
		!strings.Contains(noted.Message, "/data/more can't be set back") {
		t.Errorf("%s: %s", noted.Reason, noted.Message)
	}
}
