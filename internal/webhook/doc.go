// Package webhook judges requests to the API server by the policies in force. It
// decodes an AdmissionReview, asks the catalog for a verdict and answers; it
// validates policies when they are written; it keeps the webhook configuration in
// step with the policies; and it runs its own certificate authority.
//
// It must never change an object, never act on a request that the API server
// only tries (a dry run), and never let a request pass that a policy failing
// closed couldn't judge. Start reading at Handler; Setup joins it all to a manager.
package webhook
