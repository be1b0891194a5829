// Importing a file that the build puts next to the scripts gives its address, relative to them.
declare module "*.txt" {
  const address: string;
  export default address;
}
