// SPDX-License-Identifier: Apache-2.0

package directory

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy/rego"
	"evenkeel.dev/evenkeel/internal/prose"
)

// Load reads every policy at and below root, sorted by name.
//
// A directory is a policy when it holds a file named for it, <name>/<name>.rego,
// whose package METADATA has custom.id. All other modules are libraries: they are
// read from root and from LibraryDir at the top of fsys, and each policy takes
// along those that it imports, directly or not. Tests are left out. The policies
// hold what was authored, no defaults, and compile.
//
// When a file is wrong no policy is returned; the error is then an *Error with
// all that is wrong. Any other error means that the files couldn't be read.
func Load(fsys fs.FS, root string) ([]*v1alpha1.ClusterRegoPolicy, error) {
	policies, _, err := LoadAll(fsys, root)
	if err != nil {
		return nil, err
	}
	definitions := make([]*v1alpha1.ClusterRegoPolicy, len(policies))
	for i, p := range policies {
		definitions[i] = p.Definition
	}
	return definitions, nil
}

// Located is a policy with the directory that it comes from.
type Located struct {
	Dir        string
	Definition *v1alpha1.ClusterRegoPolicy

	meta *metadata
}

// Place is the file and line where a key of METADATA is written, such as
// "custom.match.kinds[0].kinds[1]", or the nearest one above it that is.
func (l Located) Place(key string) (file string, line int) { return l.meta.File, l.meta.line(key) }

// LoadLocated is Load, for those who need the policies' other files too.
func LoadLocated(fsys fs.FS, root string) ([]Located, error) {
	policies, _, err := LoadAll(fsys, root)
	return policies, err
}

// LoadAll is LoadLocated with the strategies: the objects of kind RemediationStrategy in YAML
// files at and below root, sorted by name.
func LoadAll(fsys fs.FS, root string) ([]Located, []Strategy, error) {
	var found problems
	dirs, err := readTree(fsys, root, &found)
	if err != nil {
		return nil, nil, err
	}
	shared, err := sharedLibraries(fsys, dirs, &found)
	if err != nil {
		return nil, nil, err
	}
	candidates, libraries := sortOut(dirs, &found)
	libraries = append(libraries, shared...)

	var policies []Located
	for _, c := range candidates {
		if definition := c.build(libraries, &found); definition != nil {
			policies = append(policies, Located{Dir: c.dir.path, Definition: definition, meta: c.meta})
		}
	}
	checkStrays(candidates, dirs, libraries, &found)
	if len(candidates)+len(found.list) == 0 {
		found.add(root, 0, "it holds no policy: a policy is a directory <name> with <name>.rego, whose package "+
			"METADATA has custom.id")
	}
	checkDuplicates(candidates, &found)
	strategies := strategiesIn(dirs, &found)
	if err := found.err(); err != nil {
		return nil, nil, err
	}
	slices.SortFunc(policies, func(a, b Located) int {
		return strings.Compare(a.Definition.Name, b.Definition.Name)
	})
	return policies, strategies, nil
}

// sharedLibraries are the modules of LibraryDir at the top, unless root holds them.
func sharedLibraries(fsys fs.FS, dirs []*directory, found *problems) ([]*module, error) {
	inRoot := slices.ContainsFunc(dirs, func(d *directory) bool { return isLibraryDir(d.path) })
	if _, err := fs.Stat(fsys, LibraryDir); inRoot || errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	libraryDirs, err := readTree(fsys, LibraryDir, found)
	if err != nil {
		return nil, err
	}
	var libraries []*module
	for _, dir := range libraryDirs {
		libraries = append(libraries, dir.modules...)
	}
	return libraries, nil
}

func isLibraryDir(at string) bool { return at == LibraryDir || strings.HasPrefix(at, LibraryDir+"/") }

// candidate is a policy directory with what its METADATA says.
type candidate struct {
	dir  *directory
	meta *metadata
}

func sortOut(dirs []*directory, found *problems) (candidates []candidate, libraries []*module) {
	for _, dir := range dirs {
		main := dir.main()
		if main == nil || !main.annotated {
			libraries = append(libraries, dir.modules...)
			continue
		}
		annotations, err := rego.ParseMetadata(main.file, main.text)
		if err != nil {
			found.addCompileError(main.file, err)
			continue
		}
		if _, isPolicy := annotations.Custom["id"]; !isPolicy {
			libraries = append(libraries, dir.modules...)
			continue
		}
		candidates = append(candidates, candidate{dir: dir, meta: &metadata{Metadata: annotations}})
	}
	return candidates, libraries
}

// build is the policy; nil if it added problems.
func (c candidate) build(libraries []*module, found *problems) *v1alpha1.ClusterRegoPolicy {
	before := len(found.list)
	if c.meta.decodeCustom(found) {
		(&checker{metadata: c.meta, found: found}).checkMetadata()
	}
	if len(found.list) > before {
		return nil
	}
	definition := &v1alpha1.ClusterRegoPolicy{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "ClusterRegoPolicy"},
		ObjectMeta: metav1.ObjectMeta{Name: c.meta.custom.ID},
		Spec:       c.meta.spec(),
	}
	modules := c.modules(libraries)
	definition.Spec.Rego = v1alpha1.RegoSource{File: modules[0].file, Main: modules[0].text}
	for _, m := range modules[1:] {
		definition.Spec.Rego.Libraries = append(definition.Spec.Rego.Libraries,
			v1alpha1.RegoLibrary{Name: m.file, Source: m.text})
	}
	if _, err := rego.Compile(definition); err != nil {
		found.addCompileError(c.meta.File, err)
		return nil
	}
	return definition
}

// modules are those of the directory, the one with the rules first, and then the
// libraries.
func (c candidate) modules(libraries []*module) []*module {
	main := c.dir.main()
	modules := []*module{main}
	for _, m := range c.dir.modules {
		if m != main {
			modules = append(modules, m)
		}
	}
	return append(modules, needed(modules, libraries)...)
}

// checkStrays finds directories that look like a policy but are neither that nor
// a library that some policy uses.
func checkStrays(candidates []candidate, dirs []*directory, libraries []*module, found *problems) {
	used := map[*module]bool{}
	for _, c := range candidates {
		for _, m := range c.modules(libraries) {
			used[m] = true
		}
	}
	for _, dir := range dirs {
		for _, m := range dir.modules {
			if slices.Contains(libraries, m) && !used[m] && !isLibraryDir(dir.path) {
				found.add(m.file, 1, "%s", m.stray(dir))
			}
		}
	}
}

// stray says what to do about a module of a directory that no policy uses.
func (m *module) stray(dir *directory) string {
	if m.pkg == "" {
		return "it has no package line, so that no policy can import it: write package NAME at the beginning of a " +
			"line, below its METADATA and above its rules; if nothing needs the file, remove it"
	}
	return fmt.Sprintf("no policy imports package %s: if it is a policy, name the file %s%s and give its package "+
		"METADATA custom.id; if it isn't, remove it", m.pkg, prose.OneLine(path.Base(dir.path)), extension)
}

func checkDuplicates(candidates []candidate, found *problems) {
	first := map[string]candidate{}
	for _, c := range candidates {
		id := c.meta.custom.ID
		if earlier, taken := first[id]; taken && id != "" {
			found.add(c.meta.File, c.meta.line("custom.id"), "custom.id %q is taken by %s:%d: give each policy its own",
				id, earlier.meta.File, earlier.meta.line("custom.id"))
			continue
		}
		first[id] = c
	}
}
