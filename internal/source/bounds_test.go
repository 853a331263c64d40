// SPDX-License-Identifier: Apache-2.0

package source

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"testing"
	"testing/fstest"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// A few bytes of Git can stand for any number of bytes, files and directories.
func TestLoadBoundsWhatAFewBytesLeadTo(t *testing.T) {
	linking := func(links, size int) fstest.MapFS {
		files := repository(map[string]string{"hats/hats.rego": rego("hats"),
			"elsewhere/more.txt": strings.Repeat("#\n", size/2)})
		for i := range links {
			files[fmt.Sprintf("hats/a%d.rego", i)] = &fstest.MapFile{Mode: fs.ModeSymlink,
				Data: []byte("../elsewhere/more.txt")}
		}
		return files
	}
	hats := repository(map[string]string{"hats/hats.rego": rego("hats")})
	tests := map[string]struct {
		reason string
		files  fs.FS
		says   string
	}{
		"a link to a large file": {"a link counts as what it leads to", linking(1, 200<<10),
			"hats/a0.rego: the file has 204800 bytes"},
		"many links to one file": {"each is kept by itself", linking(600, maxModuleBytes),
			"the Rego exceeds 64 MiB"},
		"very many empty modules": {"they have no bytes, and each is kept", linking(maxEntries, 0),
			"hats holds more than 100000 files and directories"},
		"trees that share trees": {"ten trees of ten entries are 10^10 directories",
			nested{MapFS: hats, at: "hats", width: 10, depth: 10},
			"hats holds more than 100000 files and directories, or than 10000 directories"},
		"a tree without an end": {"each level makes paths longer",
			nested{MapFS: hats, at: "hats", width: 1, depth: 1 << 20},
			"hats/0/0/0"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			_, _, err := load(t.Context(), tc.files, &v1alpha1.PolicySourceSpec{Path: "hats"})
			var failed *failure
			if !errors.As(err, &failed) || failed.reason != v1alpha1.ReasonTooLarge || !failed.stalled ||
				!strings.HasPrefix(failed.message, tc.says) {
				t.Errorf("%s: got %v", tc.reason, err)
			}
		})
	}
}

// nested has so many directories in each directory at and below one, so deep.
type nested struct {
	fstest.MapFS

	at           string
	width, depth int
	// listed is told of each directory that is listed.
	listed func()
}

func (n nested) ReadDir(name string) ([]fs.DirEntry, error) {
	if n.listed != nil {
		n.listed()
	}
	if !strings.HasPrefix(name, n.at) {
		return n.MapFS.ReadDir(name)
	}
	if strings.Count(name, "/") >= n.depth {
		return nil, nil
	}
	below := fstest.MapFS{}
	for i := range n.width {
		below[fmt.Sprint(i)] = &fstest.MapFile{Mode: fs.ModeDir}
	}
	entries, err := below.ReadDir(".")
	if own, errOwn := n.MapFS.ReadDir(name); errOwn == nil {
		entries = append(entries, own...)
	}
	return entries, err
}

func (n nested) Stat(name string) (fs.FileInfo, error) {
	if strings.HasPrefix(name, n.at) && path.Ext(name) == "" {
		return fstest.MapFS{"d": {Mode: fs.ModeDir}}.Stat("d")
	}
	return n.MapFS.Stat(name)
}

// Globs that choose nothing, and a link that leads to it, have all of a tree walked.
func TestLoadEndsInTime(t *testing.T) {
	linked := repository(map[string]string{"elsewhere/hats/hats.rego": rego("hats")})
	linked["elsewhere/all"] = &fstest.MapFile{Mode: fs.ModeSymlink, Data: []byte("../hats")}
	tests := map[string]struct {
		reason string
		files  fstest.MapFS
		at     string
		spec   v1alpha1.PolicySourceSpec
	}{
		"globs": {"each directory is searched for what is chosen", fstest.MapFS{}, "hats",
			v1alpha1.PolicySourceSpec{Path: "hats", Include: []string{"*/caps.rego"}}},
		"a link": {"a directory is searched for Rego that nobody would read", linked, "elsewhere/all",
			v1alpha1.PolicySourceSpec{Path: "elsewhere"}},
	}
	for name, tc := range tests {
		for cause, want := range map[error]string{
			context.DeadlineExceeded: v1alpha1.ReasonTooLarge, context.Canceled: v1alpha1.ReasonFetchFailed,
		} {
			t.Run(name+": "+cause.Error(), func(t *testing.T) {
				ctx := &over{Context: t.Context()}
				files := nested{MapFS: tc.files, at: tc.at, width: 10, depth: 10, listed: func() {
					if ctx.listed++; ctx.listed > 1000 {
						ctx.err = cause
					}
				}}
				_, _, err := load(ctx, files, &tc.spec)
				failed := failureOf(readFailure(err))
				if err == nil || failed.reason != want || failed.stalled {
					t.Errorf("%s: got %s: %v", tc.reason, failed.reason, err)
				}
			})
		}
	}
}

// over is a context that ends after so many looks.
type over struct {
	context.Context

	listed int
	err    error
}

func (o *over) Err() error { return o.err }
