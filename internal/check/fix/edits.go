// SPDX-License-Identifier: Apache-2.0

package fix

import (
	"strings"
	"unicode/utf16"

	"github.com/aymanbagabas/go-udiff"

	"evenkeel.dev/evenkeel/internal/check"
	"evenkeel.dev/evenkeel/internal/manifest"
	"evenkeel.dev/evenkeel/internal/manifest/edit"
	"evenkeel.dev/evenkeel/internal/policy"
)

// Locate says of each result of a report whose fix is proven how its file changes by it: in whole lines, each result
// for itself. A fix that Run wouldn't make, because it is none for a file or the text can't be changed by a program,
// has no edits; neither has that of a Secret, whose values may stand in any line, in any spelling.
func Locate(report *check.Report) {
	for i := range report.Results {
		r := &report.Results[i]
		if r.Fixed == nil || r.Document == nil || r.Document.File == manifest.Stdin ||
			policy.IsSecret(r.Object) || unfit(r.Policy, r.Actions) != "" {
			continue
		}
		r.Edits = editsOf(r)
	}
}

func editsOf(r *check.Result) []check.Edit {
	text, first := r.Document.Text()
	fixed := asWritten(r.Document, text, unfilled(r.Document, r.Object, r.Fixed))
	after, err := edit.Set(text, r.Document.Place().Pointer, fixed)
	if err != nil {
		return nil // by hand only
	}
	before := string(text)
	var edits []check.Edit
	for _, e := range udiff.Lines(before, string(after)) {
		edits = append(edits, check.Edit{
			Start: positionIn(before, e.Start, first), End: positionIn(before, e.End, first), Text: e.New})
	}
	return edits
}

// positionIn is the place of a byte of a text that begins at a line of its file.
func positionIn(text string, at, first int) check.Position {
	line := text[strings.LastIndexByte(text[:at], '\n')+1 : at]
	return check.Position{
		Line:   first + strings.Count(text[:at], "\n"),
		Column: 1 + len(utf16.Encode([]rune(line))),
	}
}
