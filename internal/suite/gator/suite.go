// SPDX-License-Identifier: Apache-2.0

package gator

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"

	"evenkeel.dev/evenkeel/internal/manifest"
	"evenkeel.dev/evenkeel/internal/policy/directory"
)

// group is the API group of suites.
const group = "test.gatekeeper.sh"

// suite is a file of tests.
type suite struct {
	file  string
	Skip  bool   `json:"skip"`
	Tests []test `json:"tests"`
}

// test is what holds of one constraint. Paths are relative to the suite's file.
type test struct {
	Name       string     `json:"name"`
	Template   string     `json:"template"`
	Constraint string     `json:"constraint"`
	Expansion  string     `json:"expansion"`
	Cases      []testCase `json:"cases"`
	// Invalid says that the constraint must not fit the template's schema.
	Invalid bool `json:"invalid"`
	Skip    bool `json:"skip"`
}

// testCase is what holds of one object, or of one AdmissionReview.
type testCase struct {
	Name       string      `json:"name"`
	Object     string      `json:"object"`
	Inventory  []string    `json:"inventory"`
	Assertions []assertion `json:"assertions"`
	Skip       bool        `json:"skip"`
}

func suites(fsys fs.FS, root string) ([]*suite, error) {
	var found []*suite
	err := fs.WalkDir(fsys, root, func(file string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && file != root && strings.HasPrefix(entry.Name(), "."):
			return fs.SkipDir
		case entry.IsDir() || !isYAML(file):
			return nil
		}
		s, err := readEntry(fsys, file, entry.Type())
		if s != nil {
			found = append(found, s)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("look for suites of gator: %w", err)
	}
	return found, nil
}

func isYAML(file string) bool { return path.Ext(file) == ".yaml" || path.Ext(file) == ".yml" }

// readEntry reads a suite in a file, or in what a link leads to; nil for what leads to no file.
func readEntry(fsys fs.FS, file string, mode fs.FileMode) (*suite, error) {
	if mode&fs.ModeSymlink != 0 {
		info, err := fs.Stat(fsys, file)
		switch {
		case errors.Is(err, fs.ErrNotExist) && strings.HasPrefix(path.Base(file), "."):
			return nil, nil //nolint:nilnil // an editor's lock
		case err != nil:
			return nil, err
		}
		mode = info.Mode().Type()
	}
	if !mode.IsRegular() {
		return nil, nil //nolint:nilnil // a directory may lead back, and anything else may never end
	}
	return readSuite(fsys, file)
}

// declared is the line by which a file says that it is a suite, which is known of one that is no YAML too.
var declared = regexp.MustCompile(
	`(?m)^(?:[ \t{]*|[ \t]*\{.*,[ \t]*)["']?apiVersion["']?[ \t]*:[ \t]*["']?` + regexp.QuoteMeta(group) + `/`)

// readSuite reads a suite; nil for a file that is something else.
func readSuite(fsys fs.FS, file string) (*suite, error) {
	text, err := fs.ReadFile(fsys, file)
	if err != nil {
		return nil, err
	}
	if !bytes.Contains(text, []byte(group)) {
		return nil, nil //nolint:nilnil // most files are no suite
	}
	// As gator reads it: on, off, yes and no are texts.
	written := map[string]any{}
	err = yaml.Unmarshal(text, written)
	switch {
	case isSuite(written):
	case err != nil && declared.Match(text):
		return nil, fmt.Errorf("%s says that it is of %s and can't be read: %w", file, group, err)
	default:
		return nil, nil //nolint:nilnil // it only names the group
	}
	s := &suite{file: file}
	if err == nil {
		err = s.take(written)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return s, nil
}

func isSuite(written map[string]any) bool {
	version, _ := written["apiVersion"].(string)
	return strings.HasPrefix(version, group+"/") && written["kind"] == "Suite"
}

// take has the suite hold what is written.
func (s *suite) take(written map[string]any) error {
	text, err := json.Marshal(written)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, s)
}

// documents are the objects in a file that a suite names.
func documents(fsys fs.FS, suiteFile, name string) ([]manifest.Document, error) {
	file := path.Join(path.Dir(suiteFile), name)
	text, err := directory.ReadFile(fsys, file)
	if err != nil {
		return nil, fmt.Errorf("%w: paths are relative to the suite's file", err)
	}
	decoder := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096)
	var found []manifest.Document
	for {
		var object map[string]any
		switch err := decoder.Decode(&object); {
		case errors.Is(err, io.EOF):
			return found, nil
		case err != nil:
			return nil, fmt.Errorf("%s: %w", file, err)
		case object != nil:
			found = append(found, manifest.Document{File: file, Object: object})
		}
	}
}
