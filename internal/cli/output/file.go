// SPDX-License-Identifier: Apache-2.0

package output

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// newMode is the mode of a file that wasn't there, less what the umask takes.
const newMode fs.FileMode = 0o644

// maxAside is how many names beside a file are tried: one that was ended while it wrote may have left some.
const maxAside = 100

// WriteFile puts a text in the place of a file at once: a reader sees the old text or the new one, and whoever is
// interrupted leaves one of them whole. A link stays one, and what it leads to is written; the mode of a file that is
// there stays. What is no file (a pipe, a terminal), what a link leads to that isn't there yet, and a file in a
// directory that takes no other are written in place.
func WriteFile(name string, text []byte) error {
	target, err := filepath.EvalSymlinks(name)
	if err != nil {
		target = name // it isn't there yet
	}
	mode, there := newMode, false
	switch info, err := os.Lstat(target); {
	case err == nil && !info.Mode().IsRegular(): // a link is one to what isn't there yet
		return os.WriteFile(name, text, newMode)
	case err == nil:
		mode, there = info.Mode().Perm(), true
	}
	aside, err := besides(target, mode)
	if errors.Is(err, fs.ErrPermission) && there {
		return os.WriteFile(name, text, mode)
	}
	if err != nil {
		return err
	}
	defer os.Remove(aside.Name()) // it is gone when all went well
	if err := fill(aside, text, mode, there); err != nil {
		return err
	}
	return os.Rename(aside.Name(), target)
}

// besides makes an empty file beside another one.
func besides(target string, mode fs.FileMode) (*os.File, error) {
	for i := range maxAside {
		name := filepath.Join(filepath.Dir(target), fmt.Sprintf(".%s.evenkeel-%d", filepath.Base(target), i))
		file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
		if !errors.Is(err, fs.ErrExist) {
			return file, err
		}
	}
	return nil, fmt.Errorf("%s has %d files .%s.evenkeel-N beside it, left by programs that were ended: remove them",
		target, maxAside, filepath.Base(target))
}

// fill writes a file whole, with the mode of the one that it replaces.
func fill(file *os.File, text []byte, mode fs.FileMode, exactly bool) error {
	_, err := file.Write(text)
	if err == nil && exactly {
		err = file.Chmod(mode)
	}
	if err == nil {
		err = file.Sync()
	}
	return errors.Join(err, file.Close())
}
