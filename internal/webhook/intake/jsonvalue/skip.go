// SPDX-License-Identifier: Apache-2.0

package jsonvalue

// managedFields skips the list of them, where a field of this name is that. An object may have metadata, and that may
// have managed fields, more than once: the last ones count.
func (r *reader) managedFields(name string) (skipped bool, err error) {
	switch {
	case r.depth == 1 && name == "metadata":
		r.left, r.inMetadata = nil, r.token() == '{'
	case r.depth == 1:
		r.inMetadata = false
	case r.inMetadata && name == "managedFields":
		r.left = nil
		if r.token() != '[' {
			return false, nil
		}
		begin := r.at
		if err := r.skip(); err != nil {
			return false, err
		}
		r.left = r.text[begin:r.at]
		return true, nil
	}
	return false, nil
}

// skip reads a value as value does, and makes nothing of it: it errs where that does.
func (r *reader) skip() error {
	switch b := r.token(); b {
	case '{', '[':
		return r.skipNested(b)
	case '"':
		_, err := r.string()
		return err
	default:
		_, err := r.value()
		return err
	}
}

func (r *reader) skipNested(begin byte) error {
	if err := r.deeper(); err != nil {
		return err
	}
	closing := byte(']')
	if begin == '{' {
		closing = '}'
	}
	for end := r.begins(closing); !end; {
		if begin == '{' {
			if _, err := r.fieldName(); err != nil {
				return err
			}
			if err := r.colon(); err != nil {
				return err
			}
		}
		if err := r.skip(); err != nil {
			return err
		}
		var err error
		if end, err = r.ends(closing); err != nil {
			return err
		}
	}
	r.depth--
	return nil
}
