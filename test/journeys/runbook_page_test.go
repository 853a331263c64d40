// SPDX-License-Identifier: Apache-2.0

package journeys_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"evenkeel.dev/evenkeel/test/cluster"
)

var (
	fenced = regexp.MustCompile("(?sm)^ *```([a-z]*)[^\n]*\n(.*?)^ *```")
	span   = regexp.MustCompile("`([^`]+)`")
	// ofReader is what a page writes where its reader has a name of their own.
	ofReader = regexp.MustCompile(`\b[A-Z]{3,}\b`)
	comment  = regexp.MustCompile(`\s+# .*$`)
)

// runbooks are the pages, by their names, with the commands of each.
func runbooks() map[string][]string {
	GinkgoHelper()
	root, err := cluster.Root()
	Expect(err).NotTo(HaveOccurred())
	pages, err := filepath.Glob(filepath.Join(root, "docs", "runbooks", "*.md"))
	Expect(err).NotTo(HaveOccurred())
	Expect(len(pages)).To(BeNumerically(">", 20))
	found := map[string][]string{}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		Expect(err).NotTo(HaveOccurred())
		found[strings.TrimSuffix(filepath.Base(page), ".md")] = commandsOf(string(text))
	}
	return found
}

// commandsOf are the commands of a page, each once: those in fences, and those in its text.
func commandsOf(page string) []string {
	var all []string
	add := func(command string) {
		command = comment.ReplaceAllString(strings.Join(strings.Fields(command), " "), "")
		if regexp.MustCompile(`^(kubectl|evenkeel|cmctl) `).MatchString(command) && !slices.Contains(all, command) {
			all = append(all, command)
		}
	}
	for _, fence := range fenced.FindAllStringSubmatch(page, -1) {
		if fence[1] != "sh" {
			continue
		}
		whole := strings.NewReplacer("\\\n", " ", "|\n", "| ").Replace(fence[2])
		for line := range strings.Lines(whole) {
			add(line)
		}
	}
	for _, code := range span.FindAllStringSubmatch(fenced.ReplaceAllString(page, ""), -1) {
		add(strings.ReplaceAll(code[1], `\|`, "|"))
	}
	return all
}

// names stand for a reader's own.
type names map[string]string

// typed is a command with the reader's names in their places.
func (n names) typed(command string) string {
	return ofReader.ReplaceAllStringFunc(command, func(name string) string {
		if value, known := n[name]; known {
			return value
		}
		return name
	})
}
