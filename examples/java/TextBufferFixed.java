/** {@link TextBuffer} where `append` keeps the argument locked. */
public class TextBufferFixed {
    private char[] text;
    private int length;

    TextBufferFixed(String s) {
        text = s.toCharArray();
        length = text.length;
    }

    synchronized int length() {
        return length;
    }

    synchronized void setLength(int n) {
        length = n;
    }

    synchronized void copyTo(char[] to, int n) {
        if (n > length) {
            throw new IndexOutOfBoundsException(n + " of " + length);
        }
        for (int i = 0; i < n; i++) {
            to[i] = text[i];
        }
    }

    synchronized void append(TextBufferFixed other) {
        int n;
        char[] copy;
        synchronized (other) {
            n = other.length();
            copy = new char[n];
            other.copyTo(copy, n);
        }
        text = (new String(text, 0, length) + new String(copy)).toCharArray();
        length += n;
    }

    public static void main(String[] args) throws InterruptedException {
        TextBufferFixed a = new TextBufferFixed("good ");
        TextBufferFixed b = new TextBufferFixed("morning");
        Thread append = new Thread(() -> a.append(b));
        Thread clear = new Thread(() -> b.setLength(0));
        append.start();
        clear.start();
        append.join();
        clear.join();
        System.out.println("done");
    }
}
