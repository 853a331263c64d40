// Package webhook judges requests to the API server by the policies in force. It
// decodes an AdmissionReview, asks the catalog for a verdict and answers; it
// validates Evenkeel's own kinds when they are written, and fills in who wrote a
// policy or answered a plan; it keeps the webhook configurations in step with the
// policies; and it runs its own certificate authority.
//
// It must never change an object but for that one field of its own kinds, never
// act on a request that the API server only tries (a dry run), and never let a
// request pass that a policy failing closed couldn't judge. Start reading at
// Handler; Setup joins it all to a manager.
package webhook
