// main.go -- everyday work with the published client, and what must outlive a
// kill.
//
//	program ENDPOINT everyday|write|reopened|stranger
//
// Method: each case uses names of its own.  This client sends no content back
// for writes unless asked, signs paths as they are escaped, and reads no
// container before a document: what the others do not.
package main

import (
	"context"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
)

// The key that all emulators share; public.
const key = "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPM" +
	"bIZnqyMsEcaGQy67XIw/Jw=="

type object map[string]any

var ctx = context.Background()

func connect(endpoint, key string) *azcosmos.Client {
	credential := must(azcosmos.NewKeyCredential(key))
	options := azcosmos.ClientOptions{ClientOptions: azcore.ClientOptions{
		Retry: policy.RetryOptions{MaxRetries: -1}}}
	return must(azcosmos.NewClientWithKey(endpoint, credential, &options))
}

func body(value object) []byte {
	return must(json.Marshal(value))
}

func parse(text []byte) object {
	var value object
	if err := json.Unmarshal(text, &value); err != nil {
		fail("%v: %q", err, text)
	}
	return value
}

func definition(id string, version int, paths ...string) azcosmos.ContainerProperties {
	kind := azcosmos.PartitionKeyKindHash
	if len(paths) > 1 {
		kind = azcosmos.PartitionKeyKindMultiHash
	}
	return azcosmos.ContainerProperties{ID: id,
		PartitionKeyDefinition: azcosmos.PartitionKeyDefinition{
			Paths: paths, Kind: kind, Version: version}}
}

func newDatabase(client *azcosmos.Client, id string) *azcosmos.DatabaseClient {
	must(client.CreateDatabase(ctx, azcosmos.DatabaseProperties{ID: id}, nil))
	return must(client.NewDatabase(id))
}

func newContainer(database *azcosmos.DatabaseClient,
	properties azcosmos.ContainerProperties) *azcosmos.ContainerClient {
	throughput := azcosmos.NewManualThroughputProperties(30000)
	must(database.CreateContainer(ctx, properties,
		&azcosmos.CreateContainerOptions{ThroughputProperties: &throughput}))
	return must(database.NewContainer(properties.ID))
}

// testStranger is for a client that does not trust the server's authority.
func testStranger(endpoint string) {
	test("a server whose authority is not known is refused", func() {
		_, err := connect(endpoint, key).CreateDatabase(ctx,
			azcosmos.DatabaseProperties{ID: "no"}, nil)
		var unknown x509.UnknownAuthorityError
		if !errors.As(err, &unknown) {
			fail("%v", err)
		}
	})
}

func main() {
	client := connect(os.Args[1], key)
	switch os.Args[2] {
	case "everyday":
		testObjects(client, os.Args[1])
		testDocuments(client)
		testIDs(client)
		testOffers(client)
		testKeys(client)
		testFeed(client)
		testBatch(client)
		testQueries(client)
		testLists(client)
		testMany(client)
		testUnique(client)
		testTTL(client, os.Args[1])
		testFaults(client, os.Args[1])
	case "write":
		testWrite(client)
	case "reopened":
		testReopened(client)
	case "stranger":
		testStranger(os.Args[1])
	}
	if failed > 0 {
		os.Exit(1)
	}
}

func testObjects(client *azcosmos.Client, endpoint string) {
	test("a database is created once, read and deleted", func() {
		database := newDatabase(client, "go-life")
		fails[azcosmos.DatabaseResponse](409, "")(client.CreateDatabase(ctx,
			azcosmos.DatabaseProperties{ID: "go-life"}, nil))
		equal(must(database.Read(ctx, nil)).DatabaseProperties.ID, "go-life")
		equal(must(database.Delete(ctx, nil)).RawResponse.StatusCode, 204)
		fails[azcosmos.DatabaseResponse](404, "")(database.Read(ctx, nil))
	})
	test("a container is created, read, replaced and deleted", func() {
		database := newDatabase(client, "go-containers")
		ttl := int32(1000)
		wish := definition("life", 2, "/pk")
		wish.DefaultTimeToLive = &ttl
		wish.UniqueKeyPolicy = &azcosmos.UniqueKeyPolicy{
			UniqueKeys: []azcosmos.UniqueKey{{Paths: []string{"/a", "/b/c"}}}}
		container := newContainer(database, wish)
		fails[azcosmos.ContainerResponse](409, "")(
			database.CreateContainer(ctx, wish, nil))
		found := must(container.Read(ctx, nil)).ContainerProperties
		equal(*found.DefaultTimeToLive, ttl)
		equal(found.UniqueKeyPolicy.UniqueKeys, wish.UniqueKeyPolicy.UniqueKeys)
		equal(found.PartitionKeyDefinition, wish.PartitionKeyDefinition)
		equal(found.IndexingPolicy.IncludedPaths,
			[]azcosmos.IncludedPath{{Path: "/*"}})
		ttl = -1
		found.DefaultTimeToLive = &ttl
		must(container.Replace(ctx, *found, nil))
		found = must(container.Read(ctx, nil)).ContainerProperties
		equal(*found.DefaultTimeToLive, ttl)
		equal(must(container.Delete(ctx, nil)).RawResponse.StatusCode, 204)
		fails[azcosmos.ContainerResponse](404, "")(container.Read(ctx, nil))
	})
	test("a wrong key is refused with 401", func() {
		wrong := connect(endpoint, base64.StdEncoding.EncodeToString(make([]byte, 64)))
		_, err := wrong.CreateDatabase(ctx, azcosmos.DatabaseProperties{ID: "no"}, nil)
		if err == nil || !strings.Contains(err.Error(), "401") {
			fail("%v", err)
		}
	})
}

func testDocuments(client *azcosmos.Client) {
	container := newContainer(newDatabase(client, "go-documents"),
		definition("c", 2, "/pk"))
	pk := azcosmos.NewPartitionKeyString("p")
	loud := &azcosmos.ItemOptions{EnableContentResponseOnWrite: true}

	test("a write gets no content unless it wants some", func() {
		quiet := must(container.CreateItem(ctx, pk, body(object{"id": "q", "pk": "p"}), nil))
		equal(quiet.RawResponse.StatusCode, 201)
		equal(len(quiet.Value), 0)
		if quiet.ETag == "" || *quiet.SessionToken == "" || quiet.RequestCharge <= 0 {
			fail("%v", quiet.RawResponse.Header)
		}
		made := must(container.CreateItem(ctx, pk, body(object{"id": "l", "pk": "p"}), loud))
		equal(parse(made.Value)["_etag"], string(made.ETag))
	})
	test("an upsert says whether it created or replaced", func() {
		text := body(object{"id": "up", "pk": "p"})
		equal(must(container.UpsertItem(ctx, pk, text, nil)).RawResponse.StatusCode, 201)
		equal(must(container.UpsertItem(ctx, pk, text, nil)).RawResponse.StatusCode, 200)
		fails[azcosmos.ItemResponse](409, "")(container.CreateItem(ctx, pk, text, nil))
	})
	test("if-match guards replace and delete", func() {
		text := body(object{"id": "guard", "pk": "p"})
		old := must(container.CreateItem(ctx, pk, text, nil)).ETag
		guard := &azcosmos.ItemOptions{IfMatchEtag: &old}
		now := must(container.ReplaceItem(ctx, pk, "guard", text, guard)).ETag
		fails[azcosmos.ItemResponse](412, "")(container.ReplaceItem(ctx, pk, "guard", text, guard))
		fails[azcosmos.ItemResponse](412, "")(container.DeleteItem(ctx, pk, "guard", guard))
		guard.IfMatchEtag = &now
		equal(must(container.DeleteItem(ctx, pk, "guard", guard)).RawResponse.StatusCode, 204)
	})
	test("a session token is accepted by reads", func() {
		made := must(container.CreateItem(ctx, pk, body(object{"id": "s", "pk": "p"}), nil))
		must(container.ReadItem(ctx, pk, "s", &azcosmos.ItemOptions{
			SessionToken: made.SessionToken}))
	})
	test("an absent document or container is not found", func() {
		fails[azcosmos.ItemResponse](404, "")(container.ReadItem(ctx, pk, "absent", nil))
		none := must(client.NewContainer("go-documents", "none"))
		fails[azcosmos.ItemResponse](404, "1003")(none.ReadItem(ctx, pk, "x", nil))
		fails[azcosmos.ItemResponse](404, "1003")(
			none.CreateItem(ctx, pk, body(object{"id": "x", "pk": "p"}), nil))
	})
	test("a bad document is refused with 400", func() {
		bad := []string{`{"pk":"p"}`, `{"id":"","pk":"p"}`, `{"id":1,"pk":"p"}`,
			`{"id":"a/b","pk":"p"}`, `{"id":"a\\b","pk":"p"}`,
			`{"id":null,"pk":"p"}`, `["id"]`, `7`, `{"id":"x","pk":"p"`, `{"id":"x",}`,
			`{"id":"x","pk":"p","ttl":0}`, `{"id":"x","pk":"p","ttl":"1"}`}
		for _, text := range bad {
			_, err := container.CreateItem(ctx, pk, []byte(text), nil)
			if err == nil || !strings.Contains(err.Error(), "400") {
				fail("%s: %v", text, err)
			}
		}
	})
	test("a document whose key is not the header's is refused with 400/1001", func() {
		text := body(object{"id": "m", "pk": "other"})
		fails[azcosmos.ItemResponse](400, "1001")(container.CreateItem(ctx, pk, text, nil))
		fails[azcosmos.ItemResponse](400, "1001")(container.UpsertItem(ctx, pk, text, nil))
	})
	test("a document over 2 MB is refused with 413", func() {
		text := body(object{"id": "b", "pk": "p", "t": strings.Repeat("x", 2<<20)})
		fails[azcosmos.ItemResponse](413, "")(container.CreateItem(ctx, pk, text, nil))
	})
	test("a body over every limit is refused and the client goes on", func() {
		text := body(object{"id": "b", "pk": "p", "t": strings.Repeat("x", 6<<20)})
		for i := 0; i < 20; i++ {
			fails[azcosmos.ItemResponse](413, "")(container.CreateItem(ctx, pk, text, nil))
		}
		must(container.ReadItem(ctx, pk, "s", nil))
	})
}

func testIDs(client *azcosmos.Client) {
	container := newContainer(newDatabase(client, "go ids ü鱀"),
		definition("c %20+ü鱀", 2, "/pk"))
	pk := azcosmos.NewPartitionKeyString("p")
	ids := []string{"Test", "This is a test", " Test", "   Test", "Test ", "Test   ",
		"WithUnicode鱀", "WithAllowedSpecial,=.:~+-@()^${}[]!_Chars", "With?Question", "With#Hash",
		"BASE64_0123456789abcdefghijklmnopqrstuvwxyz-ABCDEFGHIJKLMNOPQRSTUVWXYZ==",
		"With\rReturn", "With\tTab", "With\nNewline", "WithPercent%20",
		"WithPercentTwice%E9%B1%80", "With%Percent", "With\"Quote'and`tick",
		"With<angles>|pipe;semi&and*", "\U0001f600", "\x7f", strings.Repeat("x", 1023)}
	for _, id := range ids {
		shown := strings.ReplaceAll(id, "#", "") // that begins a comment there
		test(fmt.Sprintf("an id may be %.80q", shown), func() {
			must(container.CreateItem(ctx, pk, body(object{"id": id, "pk": "p"}), nil))
			equal(parse(must(container.ReadItem(ctx, pk, id, nil)).Value)["id"], id)
			must(container.ReplaceItem(ctx, pk, id, body(object{"id": id, "pk": "p", "n": 2}), nil))
			equal(parse(must(container.ReadItem(ctx, pk, id, nil)).Value)["n"], 2.0)
			must(container.DeleteItem(ctx, pk, id, nil))
			fails[azcosmos.ItemResponse](404, "")(container.ReadItem(ctx, pk, id, nil))
		})
	}
}

func testKeys(client *azcosmos.Client) {
	database := newDatabase(client, "go-keys")
	keys := []struct {
		value any
		key   azcosmos.PartitionKey
	}{
		{"p", azcosmos.NewPartitionKeyString("p")},
		{"", azcosmos.NewPartitionKeyString("")},
		{"鱀\U0001f600", azcosmos.NewPartitionKeyString("鱀\U0001f600")},
		{"a\"b\\c\n\a\v\x01", azcosmos.NewPartitionKeyString("a\"b\\c\n\a\v\x01")},
		{0.0, azcosmos.NewPartitionKeyNumber(0)},
		{-1.5, azcosmos.NewPartitionKeyNumber(-1.5)},
		{1e300, azcosmos.NewPartitionKeyNumber(1e300)},
		{true, azcosmos.NewPartitionKeyBool(true)},
		{false, azcosmos.NewPartitionKeyBool(false)},
		{nil, azcosmos.NullPartitionKey},
	}
	for _, version := range []int{1, 2} {
		test(fmt.Sprintf("keys of every type work with hash version %d", version), func() {
			container := newContainer(database,
				definition(fmt.Sprintf("v%d", version), version, "/pk"))
			for _, each := range keys {
				must(container.CreateItem(ctx, each.key,
					body(object{"id": "x", "pk": each.value}), nil))
			}
			for _, each := range keys {
				found := must(container.ReadItem(ctx, each.key, "x", nil))
				equal(parse(found.Value)["pk"], each.value)
			}
		})
	}
	test("a hierarchical key works, and not with a part missing", func() {
		container := newContainer(database, definition("tree", 2, "/a", "/b", "/c"))
		part := azcosmos.NewPartitionKeyString("x").AppendNumber(1)
		full := part.AppendBool(true)
		text := body(object{"id": "t", "a": "x", "b": 1, "c": true})
		must(container.CreateItem(ctx, full, text, nil))
		must(container.ReadItem(ctx, full, "t", nil))
		fails[azcosmos.ItemResponse](404, "")(container.ReadItem(ctx, part.AppendNull(), "t", nil))
		fails[azcosmos.ItemResponse](400, "1001")(container.CreateItem(ctx, part, text, nil))
		fails[azcosmos.ItemResponse](400, "1001")(container.ReadItem(ctx, part, "t", nil))
	})
}

const count = 200

func testWrite(client *azcosmos.Client) {
	test("documents are written before the server is killed", func() {
		container := newContainer(newDatabase(client, "go-durable"),
			definition("kept", 2, "/pk"))
		for n := 0; n < count; n++ {
			must(container.CreateItem(ctx, azcosmos.NewPartitionKeyNumber(float64(n%10)),
				body(object{"id": fmt.Sprint("d", n), "pk": n % 10, "n": n}), nil))
		}
	})
}

func testReopened(client *azcosmos.Client) {
	test("every acknowledged write outlived the kill", func() {
		container := must(client.NewContainer("go-durable", "kept"))
		for n := 0; n < count; n++ {
			found := must(container.ReadItem(ctx, azcosmos.NewPartitionKeyNumber(float64(n%10)),
				fmt.Sprint("d", n), nil))
			equal(parse(found.Value)["n"], float64(n))
		}
	})
}
