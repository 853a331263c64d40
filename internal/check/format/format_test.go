// SPDX-License-Identifier: Apache-2.0

package format_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/check"
	"evenkeel.dev/evenkeel/internal/check/format"
	"evenkeel.dev/evenkeel/internal/display"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/catalog"
)

var update = flag.Bool("update", false, "write the golden files anew")

func aPolicy(name string, severity v1alpha1.Severity,
	enforcement v1alpha1.AdmissionAction) *v1alpha1.ClusterRegoPolicy {
	return &v1alpha1.ClusterRegoPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1alpha1.RegoPolicySpec{
			Title: "The title of " + name, Description: "Why " + name + " is asked for,\nover two lines.",
			Owner:    "platform",
			Severity: severity, Admission: v1alpha1.Admission{Action: enforcement},
			RunbookURL: "https://example.com/runbooks/" + name,
		},
	}
}

func anObject(kind, namespace, name string) map[string]any {
	return map[string]any{"apiVersion": "apps/v1", "kind": kind,
		"metadata": map[string]any{"namespace": namespace, "name": name}}
}

// aReport has one result of each sort.
func aReport() *check.Report {
	at := func(file string, line int, object map[string]any) check.Subject {
		return check.Subject{Object: object, File: file, Line: line}
	}
	web, db := anObject("Deployment", "shop", "web"), anObject("StatefulSet", "shop", "db")
	secret := map[string]any{"apiVersion": "v1", "kind": "Secret",
		"metadata": map[string]any{"namespace": "shop", "name": "token"}}
	return &check.Report{
		Objects: 7, Unconcerned: 2, Policies: 5,
		Results: []check.Result{
			{
				Subject: at("deploy/shop,web.yaml", 3, web),
				Policy:  aPolicy("privileged", v1alpha1.SeverityCritical, v1alpha1.AdmissionDeny), Revision: "abc123",
				Violations: []policy.Violation{
					{Message: `container "web" is 100% privileged`, Path: "/spec/template/spec/containers/0"},
					{Message: "two\nlines", Details: map[string]any{"container": "web"}},
				},
				Actions: []policy.Action{
					{Type: policy.ActionPatch, Ops: []policy.PatchOp{{Op: "replace", Path: "/spec/x", Value: false}}}},
				Fix: "--- Deployment shop/web as it is\n+++ Deployment shop/web as the policy wants it\n@@ -1 +1 " +
					"@@\n-x: true\n+x: false\n",
				Edits: []check.Edit{{Start: check.Position{Line: 12, Column: 1},
					End: check.Position{Line: 13, Column: 1}, Text: "x: false\n"}},
			},
			{
				Subject: at("deploy/shop,web.yaml", 3, web),
				Policy:  aPolicy("tags", v1alpha1.SeverityMedium, v1alpha1.AdmissionWarn), Revision: "def456",
				Violations: []policy.Violation{{Message: "the tag floats"}},
				Warnings:   []policy.Violation{{Message: "the registry is slow"}},
			},
			{
				Subject: at("deploy/shop,web.yaml", 3, web),
				Policy:  aPolicy("tracing", v1alpha1.SeverityLow, v1alpha1.AdmissionAudit), Revision: "0a1b2c",
				Violations: []policy.Violation{{Message: "no traces"}},
			},
			{
				Subject: at("deploy/shop,web.yaml", 40, db),
				Policy:  aPolicy("privileged", v1alpha1.SeverityCritical, v1alpha1.AdmissionDeny), Revision: "abc123",
				Violations: []policy.Violation{{Message: `container "db" is privileged`}},
				Waived: &catalog.Waiver{Namespace: "shop", Name: "legacy", Reason: "until the new store",
					ExpirationTime: time.Date(2027, 3, 31, 0, 0, 0, 0, time.UTC)},
			},
			{
				Subject: at("deploy/shop,web.yaml", 40, db),
				Policy:  aPolicy("tags", v1alpha1.SeverityMedium, v1alpha1.AdmissionWarn), Revision: "def456",
				Err: errors.New("policy tags: stopped at its time limit of 1s"),
			},
			{
				Subject: at("<stdin>", 9, secret),
				Policy:  aPolicy("keys", v1alpha1.SeverityHigh, v1alpha1.AdmissionDeny), Revision: "3d4e5f",
				Violations: []policy.Violation{{Message: "the key [censored] is weak", Path: "/data/key"}},
				Actions: []policy.Action{
					{Type: policy.ActionPatch,
						Ops: []policy.PatchOp{{Op: "add", Path: "/data/key", Value: "c2VjcmV0"}}}},
			},
		},
		Clean: []check.Result{
			{Subject: at("deploy/shop,web.yaml", 40, db),
				Policy: aPolicy("tracing", v1alpha1.SeverityLow, v1alpha1.AdmissionAudit)}},
	}
}

func written(tb testing.TB, name string, report *check.Report, opts format.Options) string {
	tb.Helper()
	var out bytes.Buffer
	if err := format.Write(&out, name, report, opts); err != nil {
		tb.Fatal(err)
	}
	return out.String()
}

func TestEveryFormatIsAsItsGoldenFile(t *testing.T) {
	for _, name := range format.Names() {
		t.Run(name, func(t *testing.T) {
			got := written(t, name, aReport(), format.Options{Version: "v1.2.3"})
			golden := filepath.Join("testdata", name+".golden")
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatalf("%v: run the test with -update, and read what it wrote", err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if strings.Contains(got, "c2VjcmV0") {
				t.Error("it tells a value of a Secret")
			}
		})
	}
}

func TestSARIFKeepsToItsSchema(t *testing.T) {
	live := aReport()
	for i := range live.Results {
		live.Results[i].File, live.Results[i].Line = "", 0
	}
	for name, report := range map[string]*check.Report{"all sorts of results": aReport(), "live objects": live,
		"nothing": {}} {
		t.Run(name, func(t *testing.T) {
			parsed, err := sarif.FromString(written(t, "sarif", report, format.Options{}), sarif.WithStrictValidation())
			if err != nil {
				t.Fatal(err)
			}
			if err := parsed.Validate(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestSARIFKnowsAResultThatMoved(t *testing.T) {
	prints := func(report *check.Report) []string {
		parsed, err := sarif.FromString(written(t, "sarif", report, format.Options{}))
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, r := range parsed.Runs[0].Results {
			out = append(out, r.PartialFingerprints["evenkeel/v1"])
		}
		return out
	}
	moved := aReport()
	for i := range moved.Results {
		moved.Results[i].Line += 10
	}
	before := prints(aReport())
	if diff := cmp.Diff(before, prints(moved)); diff != "" {
		t.Errorf("other lines make other fingerprints:\n%s", diff)
	}
	seen := map[string]bool{}
	for _, p := range before {
		if seen[p] || p == "" {
			t.Errorf("the fingerprint %q is empty or taken", p)
		}
		seen[p] = true
	}
}

func TestJUnitIsWellFormedWhateverIsSaid(t *testing.T) {
	report := aReport()
	report.Results[0].Violations[0].Message = "control \x01 and ]]> and \xff"
	text := written(t, "junit", report, format.Options{})
	var suites struct {
		Tests    int `xml:"tests,attr"`
		Failures int `xml:"failures,attr"`
		Errors   int `xml:"errors,attr"`
		Skipped  int `xml:"skipped,attr"`
	}
	if err := xml.Unmarshal([]byte(text), &suites); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	if suites.Tests != 7 || suites.Failures != 3 || suites.Errors != 1 || suites.Skipped != 1 {
		t.Errorf("counts %+v", suites)
	}
}

func TestTableIsColouredOnATerminalOnly(t *testing.T) {
	if plain := written(t, "table", aReport(), format.Options{}); strings.Contains(plain, "\x1b") {
		t.Error("a plain table has escapes")
	}
	if coloured := written(t, "table", aReport(), format.Options{Style: display.Style{Color: true}}); !strings.Contains(
		coloured, "\x1b[31mCritical\x1b[0m") {
		t.Error("the worst severity isn't red")
	}
}

func TestWriteRefusesAnUnknownFormat(t *testing.T) {
	err := format.Write(&bytes.Buffer{}, "xml", &check.Report{}, format.Options{})
	if err == nil || !strings.Contains(err.Error(), "use one of github, json, junit, name, sarif, table, yaml") {
		t.Errorf("error %v", err)
	}
}

// TestAnOverviewHasTablesWhereThereIsMuch: of three findings four tables tell nothing more, and a column that says the
// same in each line tells nothing at all.
func TestAnOverviewHasTablesWhereThereIsMuch(t *testing.T) {
	overview := func(report *check.Report, top int) string {
		var out bytes.Buffer
		if err := format.WriteOverview(&out, report, top, format.Options{}); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	if got := overview(aReport(), 0); strings.Contains(got, "WORST") ||
		!strings.Contains(got, "7 objects, 5 violations") {
		t.Errorf("few findings:\n%s", got)
	}
	if got := overview(aReport(), 1); !strings.Contains(got, "WORST") {
		t.Errorf("objects that aren't shown are counted nowhere:\n%s", got)
	}
	many := aReport()
	for i := range 12 {
		one := many.Results[1]
		one.Object = anObject("Deployment", "shop", "web-"+strings.Repeat("x", i))
		many.Results = append(many.Results, one)
	}
	got := overview(many, 0)
	for _, head := range []string{"SEVERITY   VIOLATIONS   OBJECTS   POLICIES\n",
		"NAMESPACE   WORST      VIOLATIONS   OBJECTS   POLICIES\n", "POLICY       WORST      VIOLATIONS   OBJECTS\n"} {
		if !strings.Contains(got, head) {
			t.Errorf("there is no table %q:\n%s", head, got)
		}
	}
}

// TestAFixThatIsNotShownIsNoFix: one line would say what another takes back.
func TestAFixThatIsNotShownIsNoFix(t *testing.T) {
	report := aReport()
	report.Results[0].Fix, report.Results[0].NoFix = "", "the fixed object would violate policy tags: it floats"
	report.Results[4].FixFailed = true
	got := written(t, "table", report, format.Options{})
	for _, want := range []string{"  proposed: set /spec/x to false\n",
		"no fix is shown of privileged: the fixed object would violate policy tags: it floats\n",
		"its fix can't be known: stopped at its time limit"} {
		if !strings.Contains(got, want) {
			t.Errorf("it has no %q:\n%s", want, got)
		}
	}
	if strings.Contains(got, "fix: set /spec/x") {
		t.Errorf("it shows a fix, and says that there is none:\n%s", got)
	}
}
