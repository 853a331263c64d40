// SPDX-License-Identifier: Apache-2.0

package scaffold

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// maxName is the bound of metadata.name of a policy.
const maxName = 52

var (
	goodName = regexp.MustCompile(`^[a-z][a-z0-9]*([-_][a-z0-9]+)*$`)
	notWord  = regexp.MustCompile(`\W+`)
)

// reserved are words that Rego takes for something else where a package is named
// or imported: its keywords, and what the scaffold's own rules call.
func reserved(word string) bool {
	return slices.Contains([]string{
		"as", "contains", "data", "default", "else", "every", "false", "if", "import", "in", "input", "not", "null",
		"package", "some", "true", "with",
		"concat", "count", "is_object", "object", "rego", "replace", "sprintf",
	}, word)
}

func checkName(name string) error {
	snake := snakeCase(name)
	switch {
	case !goodName.MatchString(name):
		return fmt.Errorf("%q can't be the name of a policy: give lower-case words and numbers joined by dashes, the "+
			"first a word, for example no-latest-tag", name)
	case len(name) > maxName:
		return fmt.Errorf("the name %q has %d characters: shorten it to %d", name, len(name), maxName)
	case reserved(snake):
		return fmt.Errorf("%q can't be the name of a policy: Rego has another use for the word; say what the rule is "+
			"about, for example no-%s", name, name)
	case snake == "lib":
		return fmt.Errorf(
			"%q can't be the name of a policy: a directory of that name holds libraries; give another one", name)
	case strings.HasSuffix(snake, "_test"):
		return fmt.Errorf(
			"%q can't be the name of a policy: files that end in _test.rego are unit tests; give another one", name)
	}
	return nil
}

func snakeCase(name string) string { return strings.ReplaceAll(name, "-", "_") }

// packageOf is the Rego package of a policy in a directory: evenkeel, then the
// categories, which are the directories below the last one named policies or, where
// none is, the directory's own name.
func packageOf(dir, name string) (string, error) {
	parts := []string{"evenkeel"}
	for _, category := range categories(dir) {
		word := strings.Trim(notWord.ReplaceAllString(strings.ToLower(category), "_"), "_")
		if word == "" || word[0] >= '0' && word[0] <= '9' || reserved(word) {
			return "", fmt.Errorf("the directory %q can't be part of a Rego package: give --dir one that is named by "+
				"a word for its category, for example policies/security", category)
		}
		parts = append(parts, word)
	}
	return strings.Join(append(parts, name), "."), nil
}

func categories(dir string) []string {
	var elements []string
	for element := range strings.SplitSeq(filepath.ToSlash(filepath.Clean(dir)), "/") {
		if element != "" && element != "." && element != ".." {
			elements = append(elements, element)
		}
	}
	for i, element := range slices.Backward(elements) {
		if element == "policies" {
			return elements[i+1:]
		}
	}
	return elements[max(0, len(elements)-1):]
}
