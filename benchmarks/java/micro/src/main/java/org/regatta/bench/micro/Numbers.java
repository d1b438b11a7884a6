package org.regatta.bench.micro;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.Random;

final class Numbers extends Group {
    private static final int[] BITS = {64, 256, 1024, 4096};

    @Override
    void addOperations() throws Exception {
        Integer[] boxes = new Integer[Inputs.COUNT];
        String[] integers = new String[Inputs.COUNT];
        String[] doubles = new String[Inputs.COUNT];
        BigDecimal[] decimals = new BigDecimal[Inputs.COUNT];
        Random random = new Random(1);
        for (int i = 0; i < Inputs.COUNT; i++) {
            boxes[i] = random.nextInt(1_000_000);
            integers[i] = Integer.toString(random.nextInt(1_000_000));
            doubles[i] = Double.toString(random.nextDouble());
            decimals[i] = BigDecimal.valueOf(random.nextInt(1_000_000), 2);
        }
        object("integer_value_of", i -> Integer.valueOf((int) i & 0xfff));
        value("integer_int_value", i -> boxes[Inputs.index(i)].intValue(), Inputs.indexed(boxes));
        value("integer_parse", i -> Integer.parseInt(integers[Inputs.index(i)]), Inputs.indexed(integers));
        object("integer_to_string", i -> Integer.toString((int) i & 0xfffff));
        value("double_parse", i -> (long) (1e6 * Double.parseDouble(doubles[Inputs.index(i)])), Inputs.indexed(doubles));
        object("double_to_string", i -> Double.toString(1.0 / (1 + (i & 0xffff))));
        value("character_is_letter", i -> Character.isLetter((char) (i & 127)) ? 1 : i, i -> (i & 127) == 128 ? 1 : i);
        value("math_sin", i -> (long) (1e6 * Math.sin(i & 0xffff)));
        value("math_max", i -> Math.max(i & 15, i >> 4 & 15), i -> (i & 15) + (i >> 4 & 15));
        value("random_next_int", i -> random.nextInt());
        ObjectOperation ofTwo = i -> decimals[Inputs.index(i)] == null ? this : decimals[Inputs.index(i + 1)];
        object("decimal_add", i -> decimals[Inputs.index(i)].add(decimals[Inputs.index(i + 1)]), ofTwo);
        objects("big_integer_add", "bits", BITS, bits -> {
            BigInteger[] numbers = bigIntegers(bits);
            return i -> numbers[Inputs.index(i)].add(numbers[Inputs.index(i + 1)]);
        }, bits -> ofTwo);
        objects("big_integer_multiply", "bits", BITS, bits -> {
            BigInteger[] numbers = bigIntegers(bits);
            return i -> numbers[Inputs.index(i)].multiply(numbers[Inputs.index(i + 1)]);
        }, bits -> ofTwo);
    }

    private static BigInteger[] bigIntegers(int bits) {
        Random random = new Random(bits);
        BigInteger[] numbers = new BigInteger[Inputs.COUNT];
        for (int i = 0; i < numbers.length; i++) {
            numbers[i] = new BigInteger(bits, random).setBit(bits - 1);
        }
        return numbers;
    }
}
