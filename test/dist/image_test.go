// SPDX-License-Identifier: Apache-2.0

package dist

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"testing"
)

// An image is built twice, by two users in two folders with other clocks and masks.
func TestTheSameCommitMakesTheSameImage(t *testing.T) {
	if os.Getenv("EVENKEEL_EXHAUSTIVE") == "" {
		t.Skip("make test-nightly builds two clones; hack/image's tests prove the image of one program")
	}
	build := func(checkout, out string, wrap ...string) {
		t.Helper()
		args := append(wrap, filepath.Join(checkout, "hack", "image.sh"), out, version, "example.com/evenkeel",
			"linux/"+runtime.GOARCH)
		run(t, checkout, args[0], args[1:]...)
	}
	one, other := filepath.Join(t.TempDir(), "one"), filepath.Join(t.TempDir(), "another", "folder")
	build(clone(t), one)
	build(clone(t), other, "env", "TZ=Asia/Kathmandu", "LANG=tr_TR.UTF-8", "bash", "-c", `umask 077 && exec "$0" "$@"`)

	digest := regexp.MustCompile(`sha256:[0-9a-f]{64}`)
	index := func(folder string) string { return string(read(t, filepath.Join(folder, "oci", "index.json"))) }
	if first, second := index(one), index(other); first != second || len(digest.FindAllString(first, -1)) != 2 {
		t.Errorf("two builds of one commit differ, or aren't an image and its bill of materials:\n%s\n%s", first,
			second)
	}
	for _, file := range []string{".tar", ".cdx.json"} {
		name := "evenkeel_linux_" + runtime.GOARCH + file
		if !bytes.Equal(read(t, filepath.Join(one, name)), read(t, filepath.Join(other, name))) {
			t.Errorf("two builds of one commit have different files %s", name)
		}
	}
	if out, err := exec.Command("diff", "-r", filepath.Join(one, "oci"),
		filepath.Join(other, "oci")).CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	if entries, err := os.ReadDir(one); err != nil || len(entries) != 3 {
		t.Errorf("%v, %v: want the layout, an archive and a bill of materials", entries, err)
	}
}
