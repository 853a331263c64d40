// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"strings"
	"sync"

	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/rego"
)

// mostRead bounds how many groups of policies it is remembered of which fields they read.
const mostRead = 1024

// fieldsRead remembers what of the input for an object of a kind some policies read.
type fieldsRead struct {
	mu sync.RWMutex
	by map[string]rego.Read
}

// fields is what of the input for an object of a kind the policies of these names may read.
func (s *Snapshot) fields(kind policy.GroupKind, names ...string) rego.Read {
	key := kind.Group + "\x00" + kind.Kind + "\x00" + strings.Join(names, "\x00")
	if read, known := s.read.get(key); known {
		return read
	}
	compiled := make([]*rego.Compiled, 0, len(names))
	for _, name := range names {
		if c := s.entries[name].compiled; c != nil {
			compiled = append(compiled, c)
		}
	}
	read := rego.ReadBy(kind, compiled...)
	s.read.put(key, read)
	return read
}

func (f *fieldsRead) get(key string) (read rego.Read, known bool) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	read, known = f.by[key]
	return read, known
}

func (f *fieldsRead) put(key string, read rego.Read) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.by == nil || len(f.by) >= mostRead {
		f.by = map[string]rego.Read{}
	}
	f.by[key] = read
}
