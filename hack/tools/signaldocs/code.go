// SPDX-License-Identifier: Apache-2.0

package main

import (
	"go/ast"
	"go/token"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// metricsOf finds the metrics that a file makes: options with a name and a help
// text, and descriptions.
func metricsOf(file *ast.File) []row {
	var rows []row
	ast.Inspect(file, func(node ast.Node) bool {
		switch made := node.(type) {
		case *ast.CompositeLit:
			kind, isOptions := strings.CutSuffix(selected(made.Type), "Opts")
			if name, help := field(made, "Name"), field(made, "Help"); isOptions && name != "" {
				rows = append(rows, row{"`" + name + "`", strings.ToLower(kind), help})
			}
		case *ast.CallExpr:
			// prometheus.NewDesc, or what a file calls it with.
			if len(made.Args) > 1 && strings.HasPrefix(text(made.Args[0]), "evenkeel_") {
				rows = append(rows, row{"`" + text(made.Args[0]) + "`", "gauge", text(made.Args[1])})
			}
		}
		return true
	})
	return rows
}

// constantsOf finds the constants whose names begin so, each with its comment.
func constantsOf(node ast.Node, prefix string) []row {
	return slices.Collect(maps.Values(namedConstantsOf(node, prefix)))
}

// namedConstantsOf is the same by the constants' names.
func namedConstantsOf(node ast.Node, prefix string) map[string]row {
	rows := map[string]row{}
	ast.Inspect(node, func(node ast.Node) bool {
		constant, ok := node.(*ast.ValueSpec)
		if !ok || len(constant.Values) == 0 || !strings.HasPrefix(constant.Names[0].Name, prefix) {
			return true
		}
		_, meaning, _ := strings.Cut(strings.Join(strings.Fields(constant.Doc.Text()), " "), ": ")
		if reason := text(constant.Values[0]); reason != "" {
			rows[constant.Names[0].Name] = row{"`" + reason + "`", meaning}
		}
		return true
	})
	return rows
}

// selected is the name after the package in an expression such as
// prometheus.CounterOpts.
func selected(expression ast.Expr) string {
	if selector, ok := expression.(*ast.SelectorExpr); ok {
		return selector.Sel.Name
	}
	return ""
}

func field(literal *ast.CompositeLit, name string) string {
	for _, element := range literal.Elts {
		pair, ok := element.(*ast.KeyValueExpr)
		if !ok {
			continue
		}
		if key, ok := pair.Key.(*ast.Ident); ok && key.Name == name {
			return text(pair.Value)
		}
	}
	return ""
}

// text is the value of a string in the code, also of one in several parts.
func text(expression ast.Expr) string {
	switch value := expression.(type) {
	case *ast.BasicLit:
		if unquoted, err := strconv.Unquote(value.Value); value.Kind == token.STRING && err == nil {
			return unquoted
		}
	case *ast.BinaryExpr:
		return text(value.X) + text(value.Y)
	}
	return ""
}
