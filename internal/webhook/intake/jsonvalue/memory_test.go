// SPDX-License-Identifier: Apache-2.0

package jsonvalue

import (
	"bytes"
	"strings"
	"testing"
)

// TestNothingOfATextIsKeptButNames: what is pooled outlives the request, and a dump of the memory shows it.
func TestNothingOfATextIsKeptButNames(t *testing.T) {
	for about, text := range map[string]string{
		"a text":                       `{"name":"hunter2\n","list":["hunter2",{"name":"hunter2"}]}`,
		"a text that ends in between":  `{"name":"hunter2","list":["hunter2",{"name":"hunter2\n`,
		"one with much in it":          `{"name":"` + strings.Repeat(`hunter2\n`, 1000) + `","list":[` + strings.Repeat(`1,`, 5000) + `1]}`,
		"one with an object that ends": `{"name":{"a":"hunter2\t"},"list":[],}`,
	} {
		r := &reader{text: []byte(text)}
		_, _ = r.value()
		r.forget()
		if r.text != nil || len(r.fields)+len(r.elements)+len(r.unescaped) > 0 {
			t.Errorf("%s: it still has something", about)
		}
		for _, f := range r.fields[:cap(r.fields)] {
			if f.name != "" || f.value != nil {
				t.Errorf("%s: it keeps the field %q", about, f.name)
			}
		}
		for _, element := range r.elements[:cap(r.elements)] {
			if element != nil {
				t.Errorf("%s: it keeps the element %v", about, element)
			}
		}
		if bytes.Contains(r.unescaped[:cap(r.unescaped)], []byte("hunter2")) {
			t.Errorf("%s: it keeps the text", about)
		}
		if cap(r.fields) > mostKept || cap(r.elements) > mostKept || cap(r.unescaped) > mostUnescaped {
			t.Errorf("%s: it keeps room for %d fields, %d elements and %d bytes", about, cap(r.fields), cap(r.elements),
				cap(r.unescaped))
		}
	}
}
