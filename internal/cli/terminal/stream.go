// SPDX-License-Identifier: Apache-2.0

package terminal

import (
	"os"
	"sync"
)

// Stream is a file that commands print to. It keeps the first error of a write, for those who print
// without looking at it: a disk that is full must not pass for success.
type Stream struct {
	file *os.File
	mu   sync.Mutex
	err  error
}

// NewStream is the stream of a file.
func NewStream(file *os.File) *Stream { return &Stream{file: file} }

// Write implements io.Writer.
func (s *Stream) Write(text []byte) (int, error) {
	n, err := s.file.Write(text)
	if err != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.err == nil {
			s.err = err
		}
	}
	return n, err
}

// Fd is the file's descriptor: whoever draws asks it for the terminal.
func (s *Stream) Fd() uintptr { return s.file.Fd() }

// Err is the first error of a write, or nil.
func (s *Stream) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// descriptor is what may be a terminal: a file or a Stream.
type descriptor interface{ Fd() uintptr }
