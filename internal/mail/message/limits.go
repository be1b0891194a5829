package message

// Limits on the cost of one message. Below them, the work is linear in the size of the message. So
// they limit a parse without a clock: the same bytes always give the same ParsedMessage, however busy
// the machine is.
const (
	maxHeaderBytes = 256 << 10 // of one header block; fields beyond it are not parsed
	maxHeadersSize = 1 << 20   // of all header blocks of a message together
	maxDepth       = 128       // nested multiparts; deeper ones are not opened
	maxParts       = 1000      // parts of one message; the walk ends there
	maxPreamble    = 4 << 10   // of a multipart, searched for an undeclared boundary
	maxLooks       = 32 << 20  // bytes searched for declared boundaries in one message
	maxAddresses   = 2000      // mailboxes of one field
	maxReferences  = 1000      // message ids of one field
	maxSegments    = 100       // RFC 2231 continuations of one parameter
	maxParameters  = 500       // parameters of one field
	maxWord        = 4 << 10   // characters of one RFC 2047 encoded word (RFC: 75)

	// MaxText is the size in bytes at which ParsedMessage.Text is cut.
	MaxText = 1 << 20
	maxHTML = 2 << 20

	// Receiving limits (specification, Attachments; KB = 1,024).
	maxFiles     = 10       // more files are not listed
	maxFileSize  = 5 << 20  // bytes of one file
	maxFilesSize = 10 << 20 // bytes of all files together
	maxFilename  = 255      // characters
	maxContentID = 998      // octets, those of a header line
)
