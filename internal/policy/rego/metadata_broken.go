// SPDX-License-Identifier: Apache-2.0

package rego

import (
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"evenkeel.dev/evenkeel/internal/policy/rego/compile"
)

// yamlHelp says what most often breaks YAML in comments.
const yamlHelp = "look at this line and the one above: a text that holds `: ` or begins with a special character goes " +
	"in quotes, and the keys of one map stand in one column"

// maxBroken is how many rows of METADATA are looked through for where they break.
const maxBroken = 400

var yamlProblem = regexp.MustCompile(`\byaml: (line \d+: )?`)

// brokenRow is the row of a module in which the YAML of METADATA breaks: the one after
// the last down to which it can be read. OPA's own row is where the comment ends or
// begins, and the number in its message counts from there.
func brokenRow(src string, problem compile.Problem) (int, bool) {
	if !yamlProblem.MatchString(problem.Message) {
		return 0, false
	}
	for i, line := range strings.Split(src, "\n") {
		if !beginsMetadata(line) {
			continue
		}
		if row := brokenLine(commentAt(src, i+1)); row > 0 {
			return i + 1 + row, true
		}
	}
	return 0, false
}

// brokenLine is the line, from 1, in which a text stops to be YAML, or holds a key for the second time; 0 where it
// does neither.
func brokenLine(text string) int {
	if isYAML(text) {
		return repeatedKey(text)
	}
	lines := strings.SplitAfter(text, "\n")
	for n := min(len(lines), maxBroken); n > 0; n-- {
		if isYAML(strings.Join(lines[:n], "")) {
			return n + 1
		}
	}
	return 1
}

var keyProblem = regexp.MustCompile(`line (\d+): mapping key (".*") already defined at line \d+`)

// repeatedKey is the line of a key that its map has twice; 0 where there is none.
func repeatedKey(text string) int {
	var content map[string]any
	err := yaml.Unmarshal([]byte(text), &content)
	if err == nil {
		return 0
	}
	if found := keyProblem.FindStringSubmatch(err.Error()); found != nil {
		line, _ := strconv.Atoi(found[1])
		return line
	}
	return 0
}

// said is a problem of YAML in our words, without the lines that it counts from the comment's beginning.
func said(message string) string {
	if found := keyProblem.FindStringSubmatch(message); found != nil {
		return "the key " + found[2] + " is there twice in one map"
	}
	return message[yamlProblem.FindStringIndex(message)[1]:]
}

func isYAML(text string) bool {
	var node yaml.Node
	return yaml.Unmarshal([]byte(text), &node) == nil
}
