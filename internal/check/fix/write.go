// SPDX-License-Identifier: Apache-2.0

package fix

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
)

// Write puts a file's new text in the place of the old one, at once: a reader sees
// the one or the other, and a crash leaves one of them. A symbolic link stays one;
// what it leads to is written. The mode stays. A file that isn't what it was when it
// was read stays as it is, and that is an error.
func Write(f File) error {
	target, err := filepath.EvalSymlinks(f.Name)
	if err != nil {
		return fmt.Errorf("find %s: %w", f.Name, err)
	}
	info, err := os.Stat(target)
	if err != nil {
		return fmt.Errorf("stat %s: %w", f.Name, err)
	}
	aside, err := os.CreateTemp(filepath.Dir(target), ".evenkeel-fix-")
	if err != nil {
		return fmt.Errorf("write beside %s: %w", f.Name, err)
	}
	defer os.Remove(aside.Name()) // it is gone when all went well
	if err := fill(aside, f.After, info.Mode().Perm()); err != nil {
		return fmt.Errorf("write beside %s: %w", f.Name, err)
	}
	switch now, err := os.ReadFile(target); {
	case err != nil:
		return fmt.Errorf("read %s again: %w", f.Name, err)
	case !bytes.Equal(now, f.Before):
		return fmt.Errorf("%s has changed since it was read, and stays as it is: try again", f.Name)
	}
	if err := os.Rename(aside.Name(), target); err != nil {
		return fmt.Errorf("put %s in its place: %w", f.Name, err)
	}
	return nil
}

func fill(file *os.File, text []byte, mode os.FileMode) error {
	_, err := file.Write(text)
	if err == nil {
		err = file.Chmod(mode)
	}
	if err == nil {
		err = file.Sync()
	}
	if closeErr := file.Close(); err == nil {
		err = closeErr
	}
	return err
}
