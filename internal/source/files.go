// SPDX-License-Identifier: Apache-2.0

package source

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy/directory"
)

// The bounds of what is read of a repository, so that none can exhaust the
// manager's memory.
const (
	maxModuleBytes = 128 << 10 // the schema of Policy allows no more
	maxTotalBytes  = 64 << 20
	// maxEntries is how many files and directories are walked, and maxDirectories how
	// many of them are directories, which take longer: trees of Git may share what they
	// hold, so that a few stand for any number.
	maxEntries     = 100_000
	maxDirectories = 10_000
	// maxPath bounds a path, and so how deep directories are.
	maxPath = 1024
)

const extension = ".rego"

// load reads the policies and strategies of a repository's directory, each with its place in
// the repository, while the context lasts. The error is a *failure when the files are
// to blame. None without an error means that there is no Rego.
func load(ctx context.Context, files fs.FS, spec *v1alpha1.PolicySourceSpec) ([]directory.Located,
	[]directory.Strategy, error) {
	read := &timely{FS: files, ctx: ctx}
	located, strategies, err := loadAll(read, spec)
	if read.late != nil {
		return nil, nil, read.late
	}
	return located, strategies, err
}

func loadAll(files fs.FS, spec *v1alpha1.PolicySourceSpec) ([]directory.Located, []directory.Strategy, error) {
	dir := path.Clean(spec.Path)
	chosen := choice{FS: files, dir: dir, include: spec.Include, exclude: spec.Exclude}
	if err := chosen.validate(); err != nil {
		return nil, nil, err
	}
	read := &survey{files: chosen}
	if err := read.walk(dir); err != nil || read.modules == 0 {
		return nil, nil, err
	}
	tree, err := directory.Within(chosen, dir)
	if err != nil {
		return nil, nil, err
	}
	if err := read.lookAtLibrary(tree.Top, dir); err != nil {
		return nil, nil, err
	}
	located, strategies, err := directory.LoadAll(tree.FS, tree.Root)
	var found *directory.Error
	if errors.As(err, &found) {
		return nil, nil, notCompiling(found, tree.Top)
	}
	for i := range strategies {
		strategies[i].File = path.Join(tree.Top, strategies[i].File)
		if strategies[i].Definition.Name == v1alpha1.DefaultStrategy {
			return nil, nil, withProblems(v1alpha1.ReasonRefused, []v1alpha1.SourceProblem{problemAt(
				strategies[i].File, 0, "the strategy named default is the cluster administrator's, since it applies "+
					"to every policy that names none: give it another name, and name that in remediation.strategyRef")})
		}
	}
	if max(len(located), len(strategies)) > v1alpha1.MaxSourcePolicies {
		return nil, nil, stalled(v1alpha1.ReasonTooLarge,
			"%s holds %d policies and %d strategies, and a source may hold %d of each: split it by spec.path or "+
				"spec.include", dir, len(located), len(strategies), v1alpha1.MaxSourcePolicies)
	}
	for i := range located {
		located[i].Dir = path.Join(tree.Top, located[i].Dir)
	}
	return located, strategies, err
}

// choice is a repository's files, as include and exclude choose them. A directory
// that nothing is left of isn't there.
type choice struct {
	fs.FS

	dir              string
	include, exclude []string
}

func (c choice) validate() error {
	for i, glob := range slices.Concat(c.include, c.exclude) {
		if doublestar.ValidatePattern(glob) {
			continue
		}
		field := fmt.Sprintf("spec.include[%d]", i)
		if i >= len(c.include) {
			field = fmt.Sprintf("spec.exclude[%d]", i-len(c.include))
		}
		return withProblems(v1alpha1.ReasonNotCompiling,
			[]v1alpha1.SourceProblem{problemAt(field, 0, fmt.Sprintf("%q isn't a glob: correct its brackets", glob))})
	}
	return nil
}

func (c choice) takes(file string) bool {
	within, inside := c.within(file)
	if !inside || len(c.include)+len(c.exclude) == 0 {
		return true
	}
	if anyMatches(c.exclude, within) {
		return false
	}
	library := within == directory.LibraryDir || strings.HasPrefix(within, directory.LibraryDir+"/")
	return library || len(c.include) == 0 || anyMatches(c.include, within)
}

func (c choice) excludes(dir string) bool {
	within, inside := c.within(dir)
	return inside && anyMatches(c.exclude, within)
}

func (c choice) within(file string) (string, bool) {
	if c.dir == "." {
		return file, true
	}
	return strings.CutPrefix(file, c.dir+"/")
}

func anyMatches(globs []string, file string) bool {
	for _, glob := range globs {
		if doublestar.MatchUnvalidated(glob, file) {
			return true
		}
	}
	return false
}

// Stat and ReadFile are the repository's own, which needn't open a file to tell its
// size.
func (c choice) Stat(name string) (fs.FileInfo, error) { return fs.Stat(c.FS, name) }

func (c choice) ReadFile(name string) ([]byte, error) { return fs.ReadFile(c.FS, name) }

// ReadDir leaves out what isn't chosen.
func (c choice) ReadDir(name string) ([]fs.DirEntry, error) {
	entries, err := fs.ReadDir(c.FS, name)
	if err != nil || len(c.include)+len(c.exclude) == 0 {
		return entries, err
	}
	var kept []fs.DirEntry
	for _, entry := range entries {
		at := path.Join(name, entry.Name())
		taken := c.takes(at)
		if entry.IsDir() && !c.excludes(at) {
			if taken, err = c.holds(at); err != nil {
				return nil, err
			}
		}
		if taken {
			kept = append(kept, entry)
		}
	}
	return kept, nil
}

func (c choice) holds(dir string) (bool, error) {
	found := false
	err := fs.WalkDir(c.FS, dir, func(at string, entry fs.DirEntry, err error) error {
		if entry != nil && entry.IsDir() && c.excludes(at) {
			return fs.SkipDir // it may be a submodule, which can't be read
		}
		if err != nil {
			return err
		}
		if !entry.IsDir() && c.takes(at) {
			found = true
			return fs.SkipAll
		}
		return nil
	})
	return found, err
}
