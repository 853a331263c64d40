// SPDX-License-Identifier: Apache-2.0

package format

import (
	"bytes"
	"encoding/json"
	"io"
	"time"

	"sigs.k8s.io/yaml"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/action"
	"evenkeel.dev/evenkeel/internal/check"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/prose"
)

// report is a check.Report as machines read it. Fields are only ever added.
type report struct {
	Summary summary `json:"summary"`
	// Incomplete says what couldn't be read.
	Incomplete []string `json:"incomplete,omitempty"`
	Results    []result `json:"results"`
}

type summary struct {
	Objects     int                              `json:"objects"`
	Unconcerned int                              `json:"unconcerned"`
	Policies    int                              `json:"policies"`
	Violations  int                              `json:"violations"`
	BySeverity  map[v1alpha1.Severity]int        `json:"bySeverity"`
	ByAction    map[v1alpha1.AdmissionAction]int `json:"byAction"`
	Warnings    int                              `json:"warnings"`
	Waived      int                              `json:"waived"`
	Errors      int                              `json:"errors"`
}

type result struct {
	File       string      `json:"file,omitempty"`
	Line       int         `json:"line,omitempty"`
	Object     reference   `json:"object"`
	Policy     about       `json:"policy"`
	Violations []violation `json:"violations,omitempty"`
	Warnings   []violation `json:"warnings,omitempty"`
	Waived     *waived     `json:"waived,omitempty"`
	Fix        string      `json:"fix,omitempty"`
	Diff       string      `json:"diff,omitempty"`
	NoFix      string      `json:"noFix,omitempty"`
	Error      string      `json:"error,omitempty"`
}

type reference struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name"`
}

type about struct {
	Name        string                   `json:"name"`
	Title       string                   `json:"title,omitempty"`
	Owner       string                   `json:"owner,omitempty"`
	Severity    v1alpha1.Severity        `json:"severity"`
	Enforcement v1alpha1.AdmissionAction `json:"admissionAction"`
	RunbookURL  string                   `json:"runbookURL,omitempty"`
	Revision    string                   `json:"revision,omitempty"`
}

type violation struct {
	Message string `json:"message"`
	Path    string `json:"path,omitempty"`
	Line    int    `json:"line,omitempty"`
	Details any    `json:"details,omitempty"`
}

type waived struct {
	Waiver         string    `json:"waiver"`
	Reason         string    `json:"reason"`
	ExpirationTime time.Time `json:"expirationTime"`
}

func writeJSON(w io.Writer, from *check.Report, _ Options) error {
	return encode(w, reportOf(from))
}

// encode writes JSON in whose texts nothing is a command to a CI system.
func encode(w io.Writer, value any) error {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return err
	}
	_, err := w.Write(prose.JSON(text.Bytes()))
	return err
}

func writeYAML(w io.Writer, from *check.Report, _ Options) error {
	report := reportOf(from)
	text, err := yaml.Marshal(report)
	if err != nil || prose.Lines(string(text)) != string(text) {
		// A text has what YAML can't hold, or a line of one would be a command. JSON is YAML too.
		return encode(w, report)
	}
	_, err = w.Write(text)
	return err
}

func reportOf(from *check.Report) report {
	s := from.Summary()
	out := report{
		Summary: summary{
			Objects: from.Objects, Unconcerned: from.Unconcerned, Policies: from.Policies,
			Violations: s.Violations, BySeverity: s.BySeverity, ByAction: s.ByAction,
			Warnings: s.Warnings, Waived: s.Waived, Errors: s.Errors,
		},
		Incomplete: from.Incomplete,
		Results:    make([]result, 0, len(from.Results)),
	}
	for i := range from.Results {
		out.Results = append(out.Results, resultOf(&from.Results[i]))
	}
	return out
}

func resultOf(r *check.Result) result {
	o := object(r)
	p := &r.Policy.Spec
	out := result{
		File: r.File, Line: r.Line,
		Object: reference{APIVersion: o.GetAPIVersion(), Kind: o.GetKind(), Namespace: o.GetNamespace(),
			Name: nameOf(o)},
		Policy: about{
			Name: r.Policy.Name, Title: p.Title, Owner: p.Owner, Severity: p.Severity,
			Enforcement: p.Admission.Action, RunbookURL: p.RunbookURL, Revision: r.Revision,
		},
		Violations: violationsOf(r, r.Violations),
		Warnings:   violationsOf(r, r.Warnings),
		Fix:        hint(r),
		Diff:       r.Fix,
		NoFix:      r.NoFix,
	}
	if r.Waived != nil {
		out.Waived = &waived{Waiver: r.Waived.Ref(), Reason: r.Waived.Reason,
			ExpirationTime: r.Waived.ExpirationTime.UTC()}
	}
	if r.Err != nil {
		out.Error = r.Err.Error()
	}
	return out
}

func violationsOf(r *check.Result, found []policy.Violation) []violation {
	var out []violation
	for _, v := range found {
		out = append(out, violation{Message: v.Message, Path: v.Path, Line: r.LineAt(v.Path), Details: v.Details})
	}
	return out
}

// hint says in a line which changes would fix the object.
func hint(r *check.Result) string {
	return action.Hint(r.Actions, policy.IsSecret(r.Object))
}
