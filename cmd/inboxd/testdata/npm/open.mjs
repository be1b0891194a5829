// Decrypts envelopes with typage. Reads {identity, envelopes: [base64]} and writes an array of the contents in
// base64; throws at the first that cannot be decrypted.
import { readFileSync } from "node:fs";
import { Decrypter } from "age-encryption";

const { identity, envelopes } = JSON.parse(readFileSync(0, "utf8"));
const decrypter = new Decrypter();
decrypter.addIdentity(identity);
const opened = [];
for (const envelope of envelopes) {
  opened.push(Buffer.from(await decrypter.decrypt(Buffer.from(envelope, "base64"))).toString("base64"));
}
process.stdout.write(JSON.stringify(opened));
