// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"evenkeel.dev/evenkeel/internal/prose"
)

// Stdin is the name of standard input in places and messages; "-" names it on the
// command line.
const Stdin = "<stdin>"

// file is one input. walked says that a directory led to it, not the user: then it
// needn't hold objects.
type file struct {
	path   string
	walked bool
}

// walker gathers the files at paths.
type walker struct {
	files    []file
	seen     map[string]bool
	skipped  func(Problem)
	problems []Problem
}

func (w *walker) wrong(path string, err error) {
	var place *fs.PathError
	if errors.As(err, &place) {
		err = place.Err
	}
	if what := dangling(path); what != "" && errors.Is(err, fs.ErrNotExist) {
		w.problems = append(w.problems, Problem{File: path, Message: what})
		return
	}
	w.problems = append(w.problems, Problem{File: path, Message: fmt.Sprintf("it can't be read: %v", err)})
}

// dangling says where a link leads that leads to nothing; empty for what is no link.
func dangling(path string) string {
	to, err := os.Readlink(path)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("it is a link to %s, which isn't there: correct the link, or remove it", prose.Shown(to))
}

// add gathers what is at one path: a file, or all of a directory.
func (w *walker) add(path string) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		w.wrong(path, err)
	case info.IsDir():
		w.walk(path)
	default:
		w.addFile(path, false)
	}
}

// addFile gathers a file. Findings name it, a line each, in logs that others read: by its name it mustn't write there.
func (w *walker) addFile(path string, walked bool) {
	if prose.BeginsCommand(path) {
		path = "." + string(filepath.Separator) + path
	}
	if prose.Shown(path) != path {
		w.problems = append(w.problems, Problem{File: path, Message: "it isn't read, since its path has characters " +
			"that aren't seen, or what a CI system takes for a command: rename it"})
		return
	}
	if absolute, err := filepath.Abs(path); err == nil {
		if w.seen[absolute] {
			return
		}
		w.seen[absolute] = true
	}
	w.files = append(w.files, file{path: path, walked: walked})
}

// walk gathers the manifests of a directory in the order of their names. Hidden
// files and directories are left out, as Git's own is; so are those that a tool
// has to render first.
func (w *walker) walk(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		w.wrong(dir, err)
		return
	}
	if isChart(entries) {
		w.skipped(Problem{File: dir, Message: fmt.Sprintf(
			"it is a Helm chart, which holds templates: check what it renders to, with: helm template %s | evenkeel "+
				"check -", prose.Shown(dir))})
		return
	}
	for _, entry := range entries {
		path := filepath.Join(dir, entry.Name())
		switch {
		case strings.HasPrefix(entry.Name(), "."):
		case entry.IsDir():
			w.walk(path)
		case !entry.Type().IsRegular():
			w.addOther(path, entry)
		case isKustomization(entry.Name()):
			w.skipped(Problem{File: path, Message: fmt.Sprintf(
				"kustomize reads it, not the cluster: check what it builds, with: kustomize build %s | evenkeel "+
					"check -", prose.Shown(dir))})
		case isManifest(entry.Name()):
			w.addFile(path, true)
		}
	}
}

// addOther gathers what a directory holds besides files and directories: a link to a
// file is read. What is no file may never end, and is left out.
func (w *walker) addOther(path string, entry fs.DirEntry) {
	mode := entry.Type()
	if mode&fs.ModeSymlink != 0 {
		info, err := os.Stat(path)
		switch {
		case err != nil && isManifest(entry.Name()):
			w.wrong(path, err)
			return
		case errors.Is(err, fs.ErrNotExist) && filepath.Ext(entry.Name()) == "": // it may have been a directory
			w.skipped(Problem{File: path, Message: dangling(path)})
			return
		case err != nil:
			return
		case info.IsDir(): // it might lead back
			w.skipped(Problem{File: path,
				Message: "it is a link to a directory, which isn't followed: name it to have " +
					"it read"})
			return
		}
		mode = info.Mode().Type()
	}
	switch {
	case !isManifest(entry.Name()) || isKustomization(entry.Name()):
	case mode.IsRegular():
		w.addFile(path, true)
	default:
		w.skipped(Problem{File: path, Message: "it is " + TypeOf(mode) + ", not a file"})
	}
}

// TypeOf says what something is that is neither a file nor a directory.
func TypeOf(mode fs.FileMode) string {
	switch {
	case mode&fs.ModeNamedPipe != 0:
		return "a named pipe (FIFO)"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	default:
		return "a device"
	}
}

func isManifest(name string) bool {
	return slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(name))
}

func isChart(entries []fs.DirEntry) bool {
	return slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == "Chart.yaml" })
}

func isKustomization(name string) bool {
	return slices.Contains([]string{"kustomization.yaml", "kustomization.yml", "Kustomization"}, name)
}
