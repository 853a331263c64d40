// SPDX-License-Identifier: Apache-2.0

package source

import (
	"context"
	"errors"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// read brings what is at hand of a source up to date with its repository.
func (c *Controller) read(ctx context.Context, src *v1alpha1.PolicySource, at *remembered, seen *observation) error {
	ctx, cancel := context.WithTimeout(ctx, timeout(src))
	defer cancel()
	seen.asked = true
	request, err := c.request(ctx, src)
	if err != nil {
		return err
	}
	fetched, err := c.fetcher.Fetch(ctx, request)
	if err != nil {
		seen.found(err)
		return fetchFailure(src, err)
	}
	seen.fetched, seen.revision = true, fetched.Revision
	if at.newest != nil && at.newest.revision == fetched.Revision {
		return nil
	}
	at.newest = nil
	policies, err := load(fetched.Files, &src.Spec)
	if err != nil {
		return readFailure(err)
	}
	if len(policies) == 0 && !src.Spec.AllowEmpty {
		return stalled(v1alpha1.ReasonEmpty,
			"revision %s holds no policy at %q, so nothing was removed: correct spec.path, include and exclude, or "+
				"put the policies back; to really remove all of this source's policies set spec.allowEmpty: true",
			fetched.Revision, src.Spec.Path)
	}
	at.newest = &content{revision: fetched.Revision, policies: policies}
	return nil
}

// found notes the revision that a repository answered with, though it isn't taken.
func (s *observation) found(err error) {
	var known *FetchError
	if errors.As(err, &known) && known.Revision != "" {
		s.fetched, s.revision = true, known.Revision
	}
}

// request gathers what the repository is asked with.
func (c *Controller) request(ctx context.Context, src *v1alpha1.PolicySource) (FetchRequest, error) {
	r := FetchRequest{Key: string(src.UID), URL: src.Spec.URL, Ref: src.Spec.Ref, Since: mustFollow(src),
		Accepted: accepted(src)}
	if src.Spec.SecretRef != nil {
		values, err := c.values(ctx, src, src.Spec.SecretRef.Name, "spec.secretRef")
		if err != nil {
			return r, err
		}
		r.Credentials = values
	}
	if src.Spec.Verify != nil {
		values, err := c.values(ctx, src, src.Spec.Verify.SecretRef.Name, "spec.verify.secretRef")
		if err != nil {
			return r, err
		}
		r.Signers = values
	}
	return r, nil
}

// values are those of a Secret that a field of the source names.
func (c *Controller) values(ctx context.Context, src *v1alpha1.PolicySource, name, field string) (
	map[string][]byte, error) {
	values, err := c.secrets.Read(ctx, src.Namespace, name, field)
	if err != nil {
		return nil, transient(v1alpha1.ReasonSecretUnavailable, "%v", err)
	}
	return values, nil
}
