// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"go.yaml.in/yaml/v2"
)

// Options tune Read.
type Options struct {
	// Skipped is told of each file of a directory, and each directory, that is
	// left out, and why: it needs rendering, or holds no object. Nil ignores it.
	Skipped func(Problem)
}

// Read gives the objects at the paths, in the order of the paths and of what they
// hold: files, directories with all below them (.yaml, .yml, .json), and standard
// input for "-". Lists are unpacked.
//
// A file that is named must hold objects only; one that a directory led to may be
// something else, which Options.Skipped is told. What can't be read is in the
// error, an *Error with every problem; the objects of all other documents are
// returned beside it.
func Read(ctx context.Context, paths []string, stdin io.Reader, opts Options) ([]Document, error) {
	if opts.Skipped == nil {
		opts.Skipped = func(Problem) {}
	}
	w := &walker{seen: map[string]bool{}, skipped: opts.Skipped}
	for _, path := range paths {
		if path == "-" {
			w.addFile(Stdin, false)
			continue
		}
		w.add(path)
	}
	texts := make([][]part, len(w.files))
	if err := inParallel(ctx, len(texts), func(i int) { texts[i] = open(i, w.files[i], stdin) }); err != nil {
		return nil, err
	}
	parts := slices.Concat(texts...)
	if err := inParallel(ctx, len(parts), func(i int) { parts[i].decode() }); err != nil {
		return nil, err
	}
	return gather(parts, opts, w)
}

// part is one document of a file on its way to objects.
type part struct {
	chunk
	file    int
	json    bool
	value   any
	problem *Problem
}

// open reads a file into parts.
func open(number int, f file, stdin io.Reader) (parts []part) {
	var text []byte
	var err error
	if f.path == Stdin {
		text, err = io.ReadAll(stdin)
	} else {
		text, err = os.ReadFile(f.path)
	}
	if err != nil {
		return []part{{file: number, problem: &Problem{Message: fmt.Sprintf("it can't be read: %v", err)}}}
	}
	chunks, isJSON := []chunk(nil), false
	if looksLikeJSON(text) {
		chunks, isJSON = splitJSON(text)
	}
	if !isJSON {
		chunks = split(text)
	}
	for _, c := range chunks {
		parts = append(parts, part{chunk: c, file: number, json: isJSON})
	}
	return parts
}

// inParallel does a number of tasks on all processors.
func inParallel(ctx context.Context, count int, do func(i int)) error {
	var next atomic.Int64
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < count && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				do(i)
			}
		})
	}
	wg.Wait()
	return ctx.Err()
}

// Value is what a YAML document holds, whatever that is, or why it can't be read and where.
func Value(text []byte) (any, *Problem) {
	p := part{chunk: chunk{text: text, line: 1}}
	p.decode()
	return p.value, p.problem
}

// Objects are the objects of a YAML text, one for each document, and why others can't be read. A
// document that is no object is left out.
func Objects(file string, text []byte) (objects []Document, unread []Problem) {
	for _, c := range split(text) {
		p := part{chunk: c}
		if p.decode(); p.problem != nil {
			p.problem.File = file
			unread = append(unread, *p.problem)
		}
		if object, is := p.value.(map[string]any); is {
			objects = append(objects, Document{File: file, Line: p.firstLine(), Index: len(objects), Object: object,
				source: &source{text: c.text, line: c.line}})
		}
	}
	return objects, unread
}

func (p *part) decode() {
	if p.problem != nil {
		return
	}
	read := decodeYAML
	if p.json {
		read = decodeJSON
	}
	value, err := read(p.text)
	if err != nil {
		p.problem = p.unreadable(err)
		return
	}
	p.value = value
}

var lineNumber = regexp.MustCompile(`^(?:yaml: )?(?:unmarshal errors:\s+)?line (\d+): `)

// unreadable says why a document can't be read. The parser's line counts from the
// document's beginning.
func (p *part) unreadable(err error) *Problem {
	problem := &Problem{Line: p.firstLine()}
	text := err.Error()
	var list *yaml.TypeError
	if errors.As(err, &list) && len(list.Errors) > 0 {
		text = list.Errors[0]
	}
	if found := lineNumber.FindStringSubmatch(text); found != nil {
		if number, err := strconv.Atoi(found[1]); err == nil {
			problem.Line = p.line + number - 1
		}
		text = text[len(found[0]):]
	}
	text = strings.TrimPrefix(text, "yaml: ")
	if bytes.Contains(p.text, []byte("{{")) {
		problem.Message = "it looks like a template, which isn't YAML yet: render it first, for example with: helm " +
			"template CHART | evenkeel check - (" + text + ")"
		return problem
	}
	problem.Message = "it isn't valid YAML: " + text
	if p.json {
		problem.Message = "it isn't valid: " + text
	}
	return problem
}

// firstLine is the line of the first thing written that is no comment.
func (p *part) firstLine() int {
	line := p.line
	for text := range bytes.Lines(p.text) {
		text = bytes.TrimSpace(text)
		if len(text) > 0 && text[0] != '#' && text[0] != '%' && !marks(text, "---") {
			return line
		}
		line++
	}
	return p.line
}
