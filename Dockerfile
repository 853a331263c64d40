# syntax=docker/dockerfile:1
# The image of the manager. For several platforms at once, each compiled on the
# builder's own:
#
#     docker buildx build --platform=linux/amd64,linux/arm64 --build-arg VERSION=v0.1.0 \
#       --build-arg SOURCE_DATE_EPOCH="$(git log -1 --format=%ct)" -t REGISTRY/evenkeel:v0.1.0 --push .
#
# A tag leads to whatever its registry holds under it today. So name both images by
# digest (docs/install.md says how to get one), or say that you don't mind:
#
#       --build-arg BUILD_IMAGE=golang:1.26@sha256:… \
#       --build-arg BASE_IMAGE=gcr.io/distroless/static-debian12:nonroot@sha256:…
#       --build-arg UNPINNED=yes
ARG BUILD_IMAGE=golang:1.26
ARG BASE_IMAGE=gcr.io/distroless/static-debian12:nonroot
FROM --platform=$BUILDPLATFORM $BUILD_IMAGE AS build
ARG BUILD_IMAGE
ARG BASE_IMAGE
ARG UNPINNED=no
WORKDIR /src
COPY hack/pinned.sh hack/
RUN hack/pinned.sh "$UNPINNED" "$BUILD_IMAGE" "$BASE_IMAGE"
COPY go.mod go.sum ./
RUN --mount=type=cache,target=/go/pkg/mod go mod download
COPY . .
ARG TARGETOS
ARG TARGETARCH
ARG VERSION=dev
# GOARCH and VERSION come after the download, so that it is made once for all.
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/root/.cache/go-build \
    GOOS=$TARGETOS GOARCH=$TARGETARCH hack/build.sh /evenkeel "$VERSION"

# No shell, no package manager; certificates of public authorities, and the user
# nonroot (65532).
FROM $BASE_IMAGE
# Files and layers get this time, seconds since 1970: the same commit, the same image.
ARG SOURCE_DATE_EPOCH
COPY --from=build /evenkeel /evenkeel
USER 65532:65532
ENTRYPOINT ["/evenkeel"]
