// faults.go -- what the client makes of answers that say "not now", and of
// those that never come.  The server has orders to give them.
package main

import (
	"errors"
	"fmt"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
)

// struck is what meets faults: a container with one document, "kept".
type struck struct {
	control
	*azcosmos.ContainerClient
	made int
}

var struckKey = azcosmos.NewPartitionKeyString("p")

func (s *struck) fresh() (string, []byte) {
	s.made++
	id := fmt.Sprint("new-", s.made)
	return id, body(object{"id": id, "pk": "p"})
}

func (s *struck) create() error {
	_, text := s.fresh()
	_, err := s.CreateItem(ctx, struckKey, text, nil)
	return err
}

func (s *struck) read() error {
	_, err := s.ReadItem(ctx, struckKey, "kept", nil)
	return err
}

func (s *struck) query() error {
	page, err := s.NewQueryItemsPager("SELECT * FROM c WHERE c.id = 'kept'",
		struckKey, nil).NextPage(ctx)
	if err == nil {
		equal(len(page.Items), 1)
	}
	return err
}

func (s *struck) many() error {
	found, err := s.ReadManyItems(ctx, []azcosmos.ItemIdentity{
		{ID: "kept", PartitionKey: struckKey}, {ID: "none", PartitionKey: struckKey}}, nil)
	if err == nil {
		equal(len(found.Items), 1)
	}
	return err
}

func (s *struck) feed() error {
	page, err := s.ReadChangeFeed(ctx, &azcosmos.ChangeFeedOptions{
		PartitionKey: &struckKey, FeedRange: &azcosmos.FeedRange{MaxExclusive: "FF"}})
	if err == nil && len(page.Items) == 0 {
		fail("nothing is in the feed")
	}
	return err
}

func (s *struck) batch() error {
	_, text := s.fresh()
	batch := s.NewTransactionalBatch(struckKey)
	batch.CreateItem(text, nil)
	_, err := s.ExecuteTransactionalBatch(ctx, batch, nil)
	return err
}

func orderOf(status, substatus int) object {
	return object{"path": "/dbs/go-faults/colls/c/docs", "status": status,
		"subStatus": substatus}
}

func loss() object {
	return object{"path": "/dbs/go-faults/colls/c/docs", "lose": "answer"}
}

// done expects each operation to succeed although it met so many faults.
func (s *struck) done(times int, order object, operations ...func() error) {
	for _, run := range operations {
		s.meets(times, order, func() { must(0, run()) })
	}
}

// reported expects each operation to end with what it met, and to have done
// nothing.
func (s *struck) reported(status, substatus int, operations ...func() error) {
	text := ""
	if substatus != 0 {
		text = fmt.Sprint(substatus)
	}
	for _, run := range operations {
		before := s.made
		s.meets(1, orderOf(status, substatus), func() { fails[int](status, text)(0, run()) })
		if s.made > before {
			fails[azcosmos.ItemResponse](404, "")(
				s.ReadItem(ctx, struckKey, fmt.Sprint("new-", s.made), nil))
		}
	}
}

func testFaults(client *azcosmos.Client, endpoint string) {
	newContainer(newDatabase(client, "go-faults"), definition("c", 2, "/pk"))
	// As it is by default: the other clients here try nothing twice.
	credential := must(azcosmos.NewKeyCredential(key))
	patient := must(azcosmos.NewClientWithKey(endpoint, credential, nil))
	s := &struck{control: control{endpoint},
		ContainerClient: must(patient.NewContainer("go-faults", "c"))}
	must(s.CreateItem(ctx, struckKey, body(object{"id": "kept", "pk": "p"}), nil))
	testBusy(s, must(client.NewContainer("go-faults", "c")))
	testGone(s)
	testLost(s)
}

func testBusy(s *struck, hasty *azcosmos.ContainerClient) {
	test("what is throttled is repeated until it is done", func() {
		s.done(2, orderOf(429, 0), s.create, s.read, s.query, s.many, s.feed, s.batch)
	})
	test("one that does not repeat gets 429/3200 with a delay", func() {
		s.meets(1, orderOf(429, 0), func() {
			_, err := hasty.ReadItem(ctx, struckKey, "kept", nil)
			var answer *azcore.ResponseError
			if !errors.As(err, &answer) || answer.StatusCode != 429 ||
				answer.RawResponse.Header.Get("x-ms-substatus") != "3200" ||
				answer.RawResponse.Header.Get("x-ms-retry-after-ms") == "" {
				fail("%v", err)
			}
		})
	})
	test("what reads is repeated after 408 and 500, what writes fails", func() {
		for _, status := range []int{408, 500} {
			s.done(1, orderOf(status, 0), s.read, s.query, s.many, s.feed)
			s.reported(status, 0, s.create, s.batch)
		}
	})
	test("a 449 or 503 is reported, and nothing was done", func() {
		for _, status := range []int{449, 503} {
			s.reported(status, 0, s.create, s.read, s.query, s.many, s.feed, s.batch)
		}
	})
}

func testGone(s *struck) {
	test("feeds and reads of many look for ranges anew when theirs are gone", func() {
		for _, substatus := range []int{1002, 1007, 1008} {
			s.done(1, orderOf(410, substatus), s.many, s.feed)
		}
	})
	test("any other 410 has its sub-status", func() {
		for _, substatus := range []int{1000, 1002, 1007, 1008} {
			s.reported(410, substatus, s.create, s.read, s.query)
		}
	})
	test("a late session and a write elsewhere are repeated", func() {
		s.done(1, orderOf(404, 1002), s.read, s.query, s.many, s.feed)
		s.done(1, orderOf(403, 3), s.create)
	})
}

func testLost(s *struck) {
	test("what reads is repeated when its answer is lost", func() {
		s.done(1, loss(), s.read, s.query, s.many, s.feed)
	})
	test("a write whose answer is lost is reported, and is there", func() {
		id, text := s.fresh()
		s.meets(1, loss(), func() {
			if _, err := s.CreateItem(ctx, struckKey, text, nil); err == nil {
				fail("it got an answer")
			}
		})
		must(s.ReadItem(ctx, struckKey, id, nil))
	})
}
