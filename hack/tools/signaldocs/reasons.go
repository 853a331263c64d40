// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"go/ast"
	"path/filepath"
	"regexp"
	"strings"
)

// blockComment is a comment on a block of reasons: whose they are, which others' the same can have besides, and, where
// such a reason means something else there, what.
//
//	Reasons of a Waiver's conditions, besides ReasonInvalid. ReasonInvalid: it can't be read.
var (
	blockComment = regexp.MustCompile(`^Reasons of (.+?)(?:, besides (.+?))?\.(?: (.*))?$`)
	reasonName   = regexp.MustCompile(`Reason[A-Z]\w*`)
	ownMeaning   = regexp.MustCompile(`(Reason[A-Z]\w*): ([^.]+\.)`)
)

// reasonsBelow reads the API's reasons: those of events, and those of conditions, targets, breakers and evaluations
// with whose they are. A reason that several have gets a row for each of them.
func reasonsBelow(folder string) (events, others []row, err error) {
	paths, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		return nil, nil, err
	}
	var files []*ast.File
	known := map[string]row{}
	for _, path := range paths {
		file, err := parse(path)
		if err != nil {
			return nil, nil, err
		}
		files = append(files, file)
		for name, reason := range namedConstantsOf(file, "Reason") {
			known[name] = reason
		}
	}
	for _, file := range files {
		events = append(events, constantsOf(file, "Event")...)
		for _, declaration := range file.Decls {
			block, ok := declaration.(*ast.GenDecl)
			if !ok {
				continue
			}
			rows, err := reasonsOf(block, known)
			if err != nil {
				return nil, nil, err
			}
			others = append(others, rows...)
		}
	}
	return events, others, nil
}

// reasonsOf are the rows that a block of reasons gives by its comment; known are all reasons by the constants' names.
// A block whose comment doesn't say whose reasons it holds gives none.
func reasonsOf(block *ast.GenDecl, known map[string]row) ([]row, error) {
	comment := blockComment.FindStringSubmatch(strings.Join(strings.Fields(block.Doc.Text()), " "))
	if comment == nil {
		return nil, nil
	}
	whose, besides, meanings := comment[1], comment[2], map[string]string{}
	for _, own := range ownMeaning.FindAllStringSubmatch(comment[3], -1) {
		meanings[own[1]] = own[2]
	}
	var rows []row
	for _, reason := range constantsOf(block, "Reason") {
		rows = append(rows, row{reason[0], whose, reason[1]})
	}
	for _, name := range reasonName.FindAllString(besides, -1) {
		reason, ok := known[name]
		if !ok {
			return nil, fmt.Errorf("the comment of the reasons of %s names %s, which isn't a constant", whose, name)
		}
		meaning := reason[1]
		if own, ok := meanings[name]; ok {
			meaning = own
		}
		rows = append(rows, row{reason[0], whose, meaning})
	}
	return rows, nil
}
