// SPDX-License-Identifier: Apache-2.0

package directory

import (
	"regexp"
	"slices"
	"strings"
)

var (
	packageStatement = regexp.MustCompile(`^package\s+([A-Za-z_][\w.]*)`)
	dataReference    = regexp.MustCompile(`\bdata((?:\.[A-Za-z_]\w*)+)`)
)

// module is one Rego file that isn't a test.
type module struct {
	file, text string
	// pkg is the package without "data", for example evenkeel.lib.pods; empty
	// when the file has no package statement.
	pkg string
	// annotated says that a METADATA comment stands above the package statement.
	annotated bool
	// refs are the places below data that the text names, without "data". The
	// text isn't parsed for this: a place named in a string counts too, which
	// at worst takes a library along that isn't needed.
	refs []string
}

func newModule(file, text string) *module {
	m := &module{file: file, text: text}
	for line := range strings.Lines(text) {
		comment, isComment := strings.CutPrefix(strings.TrimSpace(line), "#")
		switch found := packageStatement.FindStringSubmatch(line); {
		case isComment:
			m.annotated = m.annotated || (m.pkg == "" && strings.TrimSpace(comment) == "METADATA")
		case found != nil && m.pkg == "":
			m.pkg = found[1]
		default:
			for _, ref := range dataReference.FindAllStringSubmatch(line, -1) {
				m.refs = append(m.refs, strings.TrimPrefix(ref[1], "."))
			}
		}
	}
	slices.Sort(m.refs)
	m.refs = slices.Compact(m.refs)
	return m
}

// uses says that the module names the package, or something in it, or a package
// above it.
func (m *module) uses(pkg string) bool {
	return slices.ContainsFunc(m.refs, func(ref string) bool {
		return within(ref, pkg) || within(pkg, ref)
	})
}

func within(path, other string) bool {
	return strings.HasPrefix(path+".", other+".")
}

// needed are the libraries that the modules use, and those that these use, in
// the order of their files.
func needed(modules, libraries []*module) []*module {
	var found []*module
	for queue := slices.Clone(modules); len(queue) > 0; {
		next := queue[0]
		queue = queue[1:]
		for _, library := range libraries {
			if next.uses(library.pkg) && !slices.Contains(found, library) {
				found = append(found, library)
				queue = append(queue, library)
			}
		}
	}
	slices.SortFunc(found, func(a, b *module) int { return strings.Compare(a.file, b.file) })
	return found
}
