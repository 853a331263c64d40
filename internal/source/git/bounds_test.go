// SPDX-License-Identifier: Apache-2.0

package git_test

import (
	"io/fs"
	"testing"

	"evenkeel.dev/evenkeel/internal/source/git"
)

// noise can't be compressed, and is always the same.
func noise(size int) []byte {
	text, state := make([]byte, size), uint64(88172645463325252)
	for i := range text {
		state ^= state << 13
		state ^= state >> 7
		state ^= state << 17
		text[i] = byte(state)
	}
	return text
}

func TestTheBoundsHold(t *testing.T) {
	s := newSite(t)
	s.repo.CommitAndPush(map[string]string{"hat": "one", "big": string(noise(3 << 20))})
	s.options.MaxPackBytes, s.options.MaxFileBytes = 2<<20, 1<<20
	s.restart()
	s.requireRefused(s.request(git.Reference{}), git.ErrTooLarge, "2 MiB")
	// A server that can leave out what isn't read anyway makes room.
	s.repo.Configure("uploadpack.allowFilter", "true")
	got, err := s.fetch(s.request(git.Reference{}))
	if err != nil {
		t.Fatal(err)
	}
	_, err = fs.ReadFile(got.Files, "big")
	requireError(t, err, git.ErrTooLarge, "big", "1024 KiB")
	if text, err := fs.ReadFile(got.Files, "hat"); err != nil || string(text) != "one" {
		t.Errorf("hat holds %q (%v)", text, err)
	}
}

func TestAFileURLIsReadWhenAllowed(t *testing.T) {
	s := newSite(t)
	hash := s.repo.CommitAndPush(hat("one"))
	request := git.Request{Key: "file", URL: "file://" + s.repo.Dir}
	s.requireRefused(request, git.ErrInvalid, "https://")
	s.options.AllowFile = true
	s.restart()
	got, err := s.fetch(request)
	if err != nil || got.Revision != "main@sha1:"+hash {
		t.Errorf("got %v, %v", got, err)
	}
}
