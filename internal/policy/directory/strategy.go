// SPDX-License-Identifier: Apache-2.0

package directory

import (
	"bytes"
	"cmp"
	"io/fs"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/canary"
	"evenkeel.dev/evenkeel/internal/manifest"
)

const strategyKind = "RemediationStrategy"

// maxStrategyBytes bounds a YAML file that may have strategies: a larger one is something else.
const maxStrategyBytes = 1 << 20

// Strategy is a RemediationStrategy with the file that it comes from.
type Strategy struct {
	File       string
	Definition *v1alpha1.RemediationStrategy

	line int
}

// strategiesAmong reads the strategies of the YAML files of a directory.
func strategiesAmong(fsys fs.FS, at string, entries []fs.DirEntry, found *problems) (all []Strategy, err error) {
	for _, entry := range entries {
		if entry.IsDir() || !isYAML(entry.Name()) || strings.HasPrefix(entry.Name(), ".") {
			continue
		}
		strategies, err := strategiesOf(fsys, path.Join(at, entry.Name()), found)
		if err != nil {
			return nil, err
		}
		all = append(all, strategies...)
	}
	return all, nil
}

// strategiesOf reads the strategies of a YAML file, strictly. What else it holds isn't looked at.
func strategiesOf(fsys fs.FS, at string, found *problems) ([]Strategy, error) {
	if info, err := fs.Stat(fsys, at); err != nil || !info.Mode().IsRegular() || info.Size() > maxStrategyBytes {
		return nil, nil //nolint:nilerr // readTree reports a dangling link
	}
	text, err := fs.ReadFile(fsys, at)
	if err != nil || !bytes.Contains(text, []byte(strategyKind)) {
		return nil, err
	}
	var strategies []Strategy
	objects, unread := manifest.Objects(at, text)
	found.list = append(found.list, unread...)
	for i := range objects {
		if d := &objects[i]; d.Object["kind"] == strategyKind {
			s := Strategy{File: at, Definition: &v1alpha1.RemediationStrategy{}, line: d.Line}
			s.read(d, found)
			strategies = append(strategies, s)
		}
	}
	return strategies, nil
}

// read decodes and checks a strategy as admission does.
func (s *Strategy) read(d *manifest.Document, found *problems) {
	if version := d.Object["apiVersion"]; version != v1alpha1.GroupVersion.String() {
		found.add(s.File, d.LineOf("/apiVersion"), "apiVersion: %v isn't that of %s: write %s", version, strategyKind,
			v1alpha1.GroupVersion)
		return
	}
	misfits := Decode(d.Object, s.Definition)
	for _, misfit := range misfits {
		found.add(s.File, d.LineOf(misfit.Pointer()), "%s", misfit)
	}
	for _, reason := range validation.IsDNS1123Subdomain(s.Definition.Name) {
		found.add(s.File, d.LineOf("/metadata/name"), "metadata.name: %q: %s", s.Definition.Name, reason)
	}
	if len(misfits) > 0 {
		return
	}
	for _, problem := range canary.Validate(&s.Definition.Spec) {
		at := Misfit{Path: "spec." + problem.Field, Message: problem.Message}
		found.add(s.File, d.LineOf(at.Pointer()), "%s", at)
	}
}

// strategiesIn are the strategies of directories, by name.
func strategiesIn(dirs []*directory, found *problems) []Strategy {
	var all []Strategy
	for _, dir := range dirs {
		all = append(all, dir.strategies...)
	}
	slices.SortStableFunc(all, func(a, b Strategy) int { return cmp.Compare(a.Definition.Name, b.Definition.Name) })
	for i := 1; i < len(all); i++ {
		if before := all[i-1]; before.Definition.Name == all[i].Definition.Name {
			found.add(all[i].File, all[i].line, "metadata.name %q is taken by %s:%d: give each strategy its own",
				before.Definition.Name, before.File, before.line)
		}
	}
	return all
}

func isYAML(name string) bool { return slices.Contains([]string{".yaml", ".yml"}, path.Ext(name)) }
