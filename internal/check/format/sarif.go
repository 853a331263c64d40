// SPDX-License-Identifier: Apache-2.0

package format

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/check"
	"evenkeel.dev/evenkeel/internal/manifest"
	"evenkeel.dev/evenkeel/internal/prose"
)

const (
	informationURI = "https://evenkeel.dev"
	// fingerprint is the key of the results' identity; its number changes when what
	// it is made of does.
	fingerprint = "evenkeel/v1"
)

// writeSARIF writes SARIF 2.1.0
// (https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html).
func writeSARIF(w io.Writer, report *check.Report, opts Options) error {
	var text bytes.Buffer
	if err := sarifOf(report, opts).PrettyWrite(&text); err != nil {
		return err
	}
	_, err := w.Write(append(prose.JSON(text.Bytes()), '\n'))
	return err
}

func sarifOf(report *check.Report, opts Options) *sarif.Report {
	run := sarif.NewRunWithInformationURI("evenkeel", informationURI).WithColumnKind("utf16CodeUnits")
	if opts.Version != "" {
		run.Tool.Driver.WithVersion(opts.Version)
	}
	invocation := sarif.NewInvocation().WithExecutionSuccessful(true)
	for i := range report.Results {
		r := &report.Results[i]
		addRule(run, r.Policy)
		if r.Err != nil {
			invocation.WithExecutionSuccessful(false)
			invocation.AddToolExecutionNotification(notificationOf(r))
		}
		for _, s := range sayings(r) {
			if s.label != labelError {
				run.AddResult(sarifResult(run, r, &s))
			}
		}
	}
	run.AddInvocation(invocation)
	out := sarif.NewReport()
	return out.AddRun(run)
}

// addRule describes a policy, once.
func addRule(run *sarif.Run, p *v1alpha1.ClusterRegoPolicy) {
	if run.GetRuleIndex(p.Name) >= 0 {
		return
	}
	help := p.Spec.Description
	if p.Spec.RunbookURL != "" {
		help = strings.TrimSpace(help + "\n\nRunbook: " + p.Spec.RunbookURL)
	}
	rule := run.AddRule(p.Name).WithName(p.Name).WithDescription(p.Spec.Title).WithMarkdownHelp(help)
	if p.Spec.Description != "" {
		rule.WithFullDescription(sarif.NewMultiformatMessageString().WithText(p.Spec.Description))
	}
	if p.Spec.RunbookURL != "" {
		rule.WithHelpURI(p.Spec.RunbookURL)
	}
	rule.WithDefaultConfiguration(sarif.NewReportingConfiguration().WithLevel(string(severityLevel(p.Spec.Severity))))
	rule.WithProperties(sarif.NewPropertyBag().WithTags([]string{"security", "kubernetes"}).
		Add("security-severity", securitySeverity(p.Spec.Severity)).
		Add("owner", p.Spec.Owner).
		Add("admissionAction", string(p.Spec.Admission.Action)))
}

// securitySeverity is the number by which GitHub's code scanning sorts results
// (critical above 9.0, high from 7.0, medium from 4.0).
func securitySeverity(severity v1alpha1.Severity) string {
	switch severity {
	case v1alpha1.SeverityCritical:
		return "9.5"
	case v1alpha1.SeverityHigh:
		return "8.0"
	case v1alpha1.SeverityMedium:
		return "5.5"
	case v1alpha1.SeverityLow:
	}
	return "2.0"
}

func sarifResult(run *sarif.Run, r *check.Result, s *saying) *sarif.Result {
	text := r.Title() + ": " + s.text
	if s.fix != "" {
		text += "\nFix: " + s.fix
	}
	result := sarif.NewRuleResult(r.Policy.Name).
		WithRuleIndex(run.GetRuleIndex(r.Policy.Name)).
		WithLevel(string(s.level)).
		WithMessage(sarif.NewTextMessage(text)).
		AddLocation(locationOf(r, s)).
		WithPartialFingerprints(map[string]string{fingerprint: identityOf(r, s)})
	if s.label != labelWarning && len(r.Edits) > 0 {
		result.AddFixe(sarifFix(r)) // the name is the library's
	}
	if r.Waived != nil && s.label != labelWarning {
		result.AddSuppression(sarif.NewSuppression().WithKind("external").WithStatus("accepted").
			WithJustification(r.Waived.String() + ": " + r.Waived.Reason))
	}
	return result
}

// sarifFix is the change to the file by which the object violates the policy no more, whole.
func sarifFix(r *check.Result) *sarif.Fix {
	change := sarif.NewArtifactChange().WithArtifactLocation(artifactOf(r))
	for _, e := range r.Edits {
		change.AddReplacement(sarif.NewReplacement().
			WithDeletedRegion(sarif.NewRegion().WithStartLine(e.Start.Line).WithStartColumn(e.Start.Column).
				WithEndLine(e.End.Line).WithEndColumn(e.End.Column)).
			WithInsertedContent(sarif.NewArtifactContent().WithText(e.Text)))
	}
	return sarif.NewFix().AddArtifactChange(change).
		WithDescription(sarif.NewTextMessage("Fix " + r.Title() + " as policy " + r.Policy.Name + " proposes"))
}

func notificationOf(r *check.Result) *sarif.Notification {
	said := sayings(r)[0]
	return sarif.NewNotification().WithLevel(string(levelError)).
		WithMessage(sarif.NewTextMessage(r.Title() + ": policy " + r.Policy.Name + ": " + said.text)).
		AddLocation(locationOf(r, &said))
}

func locationOf(r *check.Result, s *saying) *sarif.Location {
	physical := sarif.NewPhysicalLocation().WithArtifactLocation(artifactOf(r)).
		WithRegion(sarif.NewRegion().WithStartLine(max(s.line, 1)))
	return sarif.NewLocationWithPhysicalLocation(physical).
		AddLogicalLocation(sarif.NewLogicalLocation().WithKind("resource").WithFullyQualifiedName(r.Title() + s.path))
}

func artifactOf(r *check.Result) *sarif.ArtifactLocation {
	artifact := sarif.NewArtifactLocation().WithURI(uriOf(r))
	if !filepath.IsAbs(r.File) {
		artifact.WithURIBaseID("%SRCROOT%")
	}
	return artifact
}

// uriOf is where the object is written. A live object, and one from standard
// input, gets a name in the place of a file: readers of SARIF want one.
func uriOf(r *check.Result) string {
	switch {
	case r.File == "":
		return (&url.URL{Path: "cluster/" + strings.ReplaceAll(r.Title(), " ", "/")}).String()
	case r.File == manifest.Stdin:
		return "stdin"
	case filepath.IsAbs(r.File):
		return (&url.URL{Scheme: "file", Path: filepath.ToSlash(r.File)}).String()
	default:
		return (&url.URL{Path: filepath.ToSlash(filepath.Clean(r.File))}).String()
	}
}

// identityOf stays the same while lines move.
func identityOf(r *check.Result, s *saying) string {
	sum := sha256.Sum256(
		[]byte(strings.Join([]string{r.Policy.Name, r.File, resourceName(r), r.Title(), s.path, s.message}, "\x00")))
	return hex.EncodeToString(sum[:])
}
