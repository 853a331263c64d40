// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"fmt"
	"strings"

	"evenkeel.dev/evenkeel/internal/prose"
)

// gathering makes documents of what was decoded.
type gathering struct {
	opts      Options
	documents []Document
	problems  []Problem
	// index is the number of the next object in its file.
	index int
}

func gather(parts []part, opts Options, w *walker) ([]Document, error) {
	g := gathering{opts: opts, problems: w.problems}
	last := -1
	for i := range parts {
		p := &parts[i]
		f := w.files[p.file]
		if p.file != last {
			g.index, last = 0, p.file
		}
		if p.problem != nil {
			p.problem.File = f.path
			g.problems = append(g.problems, *p.problem)
			continue
		}
		origin := &source{text: p.text, line: p.line}
		objects(p.value, "", func(found finding) { g.take(p, f, origin, found) })
	}
	return g.documents, errorOf(g.problems)
}

// take takes an object of a part, or says why it is none.
func (g *gathering) take(p *part, f file, origin *source, found finding) {
	d := Document{File: f.path, Index: g.index, Object: found.object, source: origin,
		place: Place{Start: p.offset, End: p.offset + len(p.text), Pointer: found.pointer}}
	g.index++
	if d.Line = p.firstLine(); found.pointer != "" {
		d.Line = d.LineOf("")
	}
	message, foreign := found.wrong, false
	if message == "" {
		message, foreign = kindProblem(found.object)
	}
	switch {
	case message == "":
		g.documents = append(g.documents, d)
	case foreign && f.walked && !isItem(found.pointer):
		g.opts.Skipped(Problem{File: d.File, Line: d.Line, Message: message})
	default:
		g.problems = append(g.problems, Problem{File: d.File, Line: d.Line, Message: message})
	}
}

// kindProblem says why a value is no Kubernetes object; foreign that it doesn't
// mean to be one.
func kindProblem(object map[string]any) (message string, foreign bool) {
	apiVersion, _ := object["apiVersion"].(string)
	kind, _ := object["kind"].(string)
	switch {
	case apiVersion != "" && kind != "":
		if strings.HasPrefix(apiVersion, "kustomize.config.k8s.io/") {
			return "kustomize reads it, not the cluster: check what it builds, with: kustomize build DIR | evenkeel " +
				"check -", true
		}
		return "", false
	case apiVersion == "" && kind == "":
		return "it isn't a Kubernetes object: it has neither apiVersion nor kind", true
	case kind == "":
		return "kind is missing: say which kind of object it is, for example kind: Deployment", false
	default:
		return fmt.Sprintf("apiVersion is missing: say which version of %s it is, for example apiVersion: apps/v1",
			prose.Shown(kind)), false
	}
}
